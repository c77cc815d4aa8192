// The buttons that open a part of the sidebar have a name for screen readers.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll(".bd-sidebar summary, .bd-sidebar-primary summary")) {
    const link = summary.parentElement.parentElement.querySelector("a");
    summary.setAttribute("aria-label", "Pages below " + (link ? link.textContent.trim() : "this one"));
  }
});
