// Names for screen readers: buttons of the sidebar, pictures of the gallery, and wide tables, which the keyboard scrolls.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll(".bd-sidebar summary, .bd-sidebar-primary summary")) {
    const link = summary.parentElement.parentElement.querySelector("a");
    summary.setAttribute("aria-label", "Pages below " + (link ? link.textContent.trim() : "this one"));
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
  for (const box of document.querySelectorAll(".pst-scrollable-table-container")) {
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "Table");
  }
});
