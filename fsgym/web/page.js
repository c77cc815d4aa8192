// The pages work without this. With it, an answer changes the page in place, so that the new belief is read aloud, a file
// can be chosen for a saved case, and a button prints.
"use strict";

// The box of the case is in sight in the chart, which scrolls by itself.
function showPlace() {
  const chart = document.querySelector(".chart[data-here]");
  const box = chart && document.getElementById(chart.dataset.here);
  if (!box) return;
  const inside = box.getBoundingClientRect();
  const outside = chart.getBoundingClientRect();
  chart.scrollLeft += inside.left - outside.left - 16;
  chart.scrollTop += inside.top - outside.top - 16;
}

// A note that was typed stays until it is kept: it is taken to the next page, and a page with one is not left without a warning.
const isUnsaved = (note) => note && note.value !== note.defaultValue;
window.addEventListener("beforeunload", (event) => isUnsaved(document.getElementById("note")) && event.preventDefault());

function swap(text, url) {
  const next = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  const main = document.querySelector("main[data-live]");
  const other = () => new URL(url).pathname.split("/")[2] !== location.pathname.split("/")[2];
  // The page's policy allows the style sheet of its own chart alone.
  const styles = (part) => [...part.querySelectorAll("style")].map((sheet) => sheet.textContent).join("");
  if (!next || !next.hasAttribute("data-live") || other() || styles(next) !== styles(main)) {
    location.assign(url);
    return;
  }
  for (const place of main.querySelectorAll("details[id]")) {
    const same = next.querySelector("#" + place.id);
    if (same && place.id !== "delete") same.open = place.open;
  }
  const note = main.querySelector("#note");
  if (isUnsaved(note)) next.querySelector("#note").value = note.value;
  const spoken = document.getElementById("spoken");
  const fresh = next.querySelector("#spoken");
  const said = fresh.textContent;
  const question = next.querySelector("h1").textContent;
  for (const column of main.querySelectorAll(":scope > *")) if (!column.contains(spoken)) column.remove();
  // The column with the live region stays in place; what is around the region is replaced.
  const column = spoken.closest(".column");
  const card = spoken.closest(".card");
  const freshCard = fresh.closest(".card");
  const freshColumn = freshCard.parentElement;
  for (const part of [...card.children]) if (part !== spoken && part.tagName !== "H2") part.remove();
  let after = false;
  for (const part of [...freshCard.children]) {
    if (part === fresh) after = true;
    else if (after) card.append(part);
  }
  for (const part of [...column.children]) if (part !== card) part.remove();
  for (const part of [...freshColumn.children]) if (part !== freshCard) column.append(part);
  let before = true;
  for (const part of [...next.children]) {
    if (part === freshColumn) before = false;
    else if (before) column.before(part);
    else main.append(part);
  }
  spoken.textContent = said;
  const announced = document.createElement("span");
  announced.className = "spoken";
  announced.textContent = " " + question;
  spoken.append(announced);
  const focus = main.querySelector("[autofocus]");
  if (focus) focus.focus();
  window.scrollTo(0, 0);
  showPlace();
}

// Only what the reply says: the fields of the page stay as they were typed.
function tell(text, url) {
  const next = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  if (!next || !next.hasAttribute("data-live")) {
    location.assign(url);
    return;
  }
  const said = ":scope > .first > [role]", main = document.querySelector("main[data-live]");
  for (const before of main.querySelectorAll(said)) before.remove();
  main.querySelector(".first").prepend(...next.querySelectorAll(said));
}

async function send(form, button, data) {
  const action = button && button.hasAttribute("formaction") ? button.formAction : form.action;
  const buttons = form.querySelectorAll("button"), show = "stays" in form.dataset ? tell : swap;
  for (const other of buttons) other.disabled = true;
  try {
    const reply = await fetch(action, { method: "POST", body: new URLSearchParams(data) });
    if (data.has("note") && reply.redirected) document.getElementById("note").defaultValue = data.get("note");
    show(await reply.text(), reply.redirected ? reply.url : location.href);
    for (const other of buttons) other.disabled = false;
  } catch {
    location.reload();
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.closest("main[data-live]") || form.action.endsWith("/delete")) return;
  let data;
  try {
    data = new FormData(form, event.submitter);
  } catch {
    return; // an old browser: the form is sent as without this script
  }
  event.preventDefault();
  send(form, event.submitter, data);
});

// The chart is closed at first; a case is in sight once it is opened. That event is not seen from outside but on its way in.
document.addEventListener("toggle", (event) => event.target.id.startsWith("chart") && showPlace(), true);

// Whoever types another value means it.
document.addEventListener("input", (event) => {
  const radio = event.target.parentElement && event.target.parentElement.querySelector("input[type=radio][value=another]");
  if (radio && event.target.type === "text") radio.checked = event.target.value.trim() !== "";
});

for (const area of document.querySelectorAll("textarea[data-file]")) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  label.textContent = area.dataset.file + " ";
  input.type = "file";
  input.accept = ".json";
  input.addEventListener("change", async () => {
    if (input.files.length) area.value = await input.files[0].text();
  });
  label.append(input);
  area.parentElement.before(label);
}

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}

showPlace();
