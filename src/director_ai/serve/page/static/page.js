// The keyboard, the theme, and forms that can be sent from a textarea. Everything works without it, by links and buttons.
(() => {
  "use strict";
  const base = document.body.dataset.base;
  const find = (selector) => document.querySelector(selector);

  // --- theme ---------------------------------------------------------------------------------------------------
  find("[data-theme-toggle]")?.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("director-theme", root.dataset.theme); } catch { /* it holds for this page */ }
  });

  // --- help ----------------------------------------------------------------------------------------------------
  const help = find("#help");
  const showHelp = () => help && !help.open && help.showModal();
  find("[data-help]")?.addEventListener("click", showHelp);

  // --- the inbox -----------------------------------------------------------------------------------------------
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const move = (by) => {
    const all = rows();
    if (!all.length) return;
    const now = all.indexOf(document.activeElement);
    const next = now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, now + by));
    all[next].focus();
    all[next].scrollIntoView({ block: "nearest" });
  };

  // --- a case --------------------------------------------------------------------------------------------------
  const actions = { a: "approve", r: "reject", t: "request_retry" };
  const choose = (action) => {
    const radio = find(`#decide input[value="${action}"]`);
    if (!radio) return false;
    radio.checked = true;
    find("#reason").focus();
    return true;
  };
  const edit = () => {
    const box = find("#edit");
    if (!box) return false;
    box.open = true;
    find("#draft").focus();
    return true;
  };
  const send = (form) => {
    if (!form) return false;
    form.requestSubmit();
    return true;
  };
  const onRow = (step) => {
    const row = document.activeElement;
    if (!row?.matches?.("[data-row]")) return false;
    location.assign(`${row.href}#${step}`);
    return true;
  };

  const keys = {
    j: () => move(1),
    k: () => move(-1),
    a: () => choose("approve") || onRow("approve"),
    r: () => choose("reject") || onRow("reject"),
    t: () => choose("request_retry") || onRow("request_retry"),
    e: () => edit() || onRow("edit"),
    c: () => send(find("#claim")) || onRow("claim"),
    x: () => send(find("#release")),
    i: () => location.assign(`${base}/`),
    m: () => location.assign(`${base}/monitoring`),
    p: () => location.assign(`${base}/playground`),
    "/": () => (find("#search") ? find("#search").focus() : location.assign(`${base}/#search`)),
    "?": showHelp,
  };

  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input:not([type=radio]), textarea, select");
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.form) {
      event.preventDefault();
      event.target.form.requestSubmit();
    } else if (event.key === "Escape" && typing) {
      event.target.blur();
    } else if (!typing && !help?.open && !event.ctrlKey && !event.metaKey && !event.altKey && caller() && keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  const caller = () => Boolean(help);

  // What the address asks for, when a key was pressed in the inbox.
  const step = location.hash.slice(1);
  if (Object.values(actions).includes(step)) choose(step);
  else if (step === "edit") edit();
  else if (step === "claim") find("#claim button")?.focus();
  else if (step === "search") find("#search")?.focus();
  else find("[data-said]")?.focus();

  // One click, one request.
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post" || event.target.id === "trial") return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
  });
  addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));
})();
