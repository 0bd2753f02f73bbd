// Chooses light or dark before anything is drawn; without a choice, the system's own holds.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const kept = () => {
    try { return localStorage.getItem("director-theme"); } catch { return null; }
  };
  const theme = kept();
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
})();
