// Watches a guarded stream: tokens as the model says them, and what the guard lets out. Texts become text nodes only.
(() => {
  "use strict";
  const form = document.querySelector("#trial");
  const button = document.querySelector("[data-stream-button]");
  if (!form || !button) return;
  const by = (id) => document.getElementById(id);
  const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0\u2800\uFE00-\uFE0F]/u;
  let running = null;

  const make = (name, kind, text) => {
    const made = document.createElement(name);
    if (kind) made.className = kind;
    if (text) put(made, text);
    return made;
  };
  const put = (node, text) => {
    let plain = "";
    const flush = () => { if (plain) node.append(document.createTextNode(plain)); plain = ""; };
    for (const sign of text) {
      if (sign === "\n" || sign === "\t" || !unseen.test(sign)) { plain += sign; continue; }
      flush();
      const mark = document.createElement("span");
      mark.className = "unseen";
      mark.textContent = `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
      node.append(mark);
    }
    flush();
  };
  const names = { gone: "del", new: "ins", value: "mark" };
  const scale = (share) => {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("class", "scale");
    svg.setAttribute("viewBox", "0 0 100 8");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    for (const [kind, width] of [["rail", 100], ["reach", share * 100]]) {
      const bar = document.createElementNS(space, "rect");
      bar.setAttribute("class", kind);
      bar.setAttribute("y", "3");
      bar.setAttribute("height", "2");
      bar.setAttribute("width", String(width));
      svg.append(bar);
    }
    return svg;
  };
  const showClause = (clause) => {
    const row = make("li", `clause ${clause.kind}`);
    const words = make("span", "words");
    for (const [place, [kind, said]] of clause.stretches.entries()) {
      const text = place === clause.stretches.length - 1 ? said.trimEnd() : said;
      if (names[kind]) words.append(make(names[kind], "", text));
      else put(words, text);
    }
    const verdict = make("span", "verdict");
    verdict.append(make("span", `chip ${clause.kind}`, clause.outcome));
    if (clause.share !== null) verdict.append(scale(clause.share), make("span", "score", clause.support));
    const why = make("span", "why", `${clause.why} `);
    for (const id of clause.kind === "nothing" ? [] : clause.evidence) why.append(make("code", "", id));
    verdict.append(why);
    row.append(words, verdict);
    by("clauses").append(row);
  };

  let read = 0;
  let judged = 0;
  const handlers = {
    token: (data) => { read += data.text.length; put(by("raw"), data.text); tell(); },
    piece: (data) => {
      put(by("shown"), data.text);
      for (const clause of data.clauses) {
        judged += clause.stretches.reduce((sum, [kind, text]) => sum + (kind === "new" ? 0 : text.length), 0);
        showClause(clause);
      }
      tell();
    },
    end: (data) => finish(data.halted ? `halted: ${data.reason}` : "done: everything was judged"),
    failed: (data) => finish(data.sentence),
  };
  const tell = () => { by("held").textContent = `held back: ${Math.max(0, read - judged)} characters`; };
  const finish = (words) => { by("held").textContent = words; by("live").classList.add("done"); };

  const take = (block) => {
    const event = { name: "", data: "" };
    for (const line of block.split("\n")) {
      if (line.startsWith("event: ")) event.name = line.slice(7);
      else if (line.startsWith("data: ")) event.data += line.slice(6);
    }
    if (event.data) handlers[event.name]?.(JSON.parse(event.data));
  };

  button.addEventListener("click", async () => {
    running?.abort();
    running = new AbortController();
    read = judged = 0;
    for (const id of ["raw", "shown", "clauses"]) by(id).replaceChildren();
    by("outcome").hidden = true;
    by("live").hidden = false;
    by("live").classList.remove("done");
    by("held").textContent = "waiting";
    try {
      const answer = await fetch(form.dataset.stream, { method: "POST", body: new URLSearchParams(new FormData(form)), signal: running.signal });
      if (!answer.ok || !answer.body) { finish("this could not be streamed; press Check to see why"); return; }
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        blocks.forEach(take);
      }
    } catch (error) {
      if (error.name !== "AbortError") finish("the stream broke off");
    }
  });
})();
