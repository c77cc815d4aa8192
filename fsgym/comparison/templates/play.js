"use strict";
(function () {
  var record = JSON.parse(document.getElementById("played").textContent);
  var CLASSES_SHOWN = 8;
  var setting = record.start, row = 0, shown = 0, ended = false;

  function part(id) { return document.getElementById(id); }
  function add(parent, tag, text, name) {
    var element = document.createElement(tag);
    if (text) element.textContent = text;
    if (name) element.className = name;
    parent.appendChild(element);
    return element;
  }
  function joined(text) { return text.replace(/ %/g, "\u00a0%"); }
  function words(place) { return joined(record.texts[place]); }

  // The answer at the lambda of the slider, above the tables.
  function showAnswer() {
    var sentences = record.settings[setting].answer, box = part("answer");
    if (!box || !part("price") || !sentences.length) return;
    var paragraphs = [sentences[0]];
    if (sentences.length > 1) paragraphs.push(sentences.slice(1).join(" "));
    box.textContent = "";
    paragraphs.forEach(function (text) { add(box, "p", joined(text)); });
  }
  function move(to) {
    setting = to;
    var label = record.settings[setting].label, slider = part("price-slider"), choice = part("play-setting");
    if (slider) {
      slider.value = String(setting);
      slider.setAttribute("aria-valuetext", label);
      part("price-label").textContent = label;
    }
    if (choice) choice.value = String(setting);
    begin();
  }

  // One case, question by question: correct, verdict, costs, prior, steps, beliefs.
  function current() { return record.settings[setting].cases[row]; }
  function begin() {
    if (!part("play")) return;
    shown = 0;
    ended = false;
    part("play-note").textContent = record.settings[setting].note;
    part("play-steps").textContent = "";
    part("play-card").className = "card";
    part("play-news").textContent = current()[3] ? "Before any acquisition: " + words(current()[3]) + "." : "";
    showShares();
    showQuestion();
  }
  function showShares() {
    var belief = current()[5][shown], before = shown ? current()[5][shown - 1] : null, box = part("play-shares");
    var order = belief.map(function (_, k) { return k; });
    if (order.length > CLASSES_SHOWN) {
      order.sort(function (a, b) { return belief[b] - belief[a] || a - b; });
    }
    box.textContent = "";
    order.slice(0, CLASSES_SHOWN).forEach(function (k) {
      var share = record.shares[belief[k]], line = add(box, "div", "", "share");
      add(line, "span", record.classes[k]).title = record.classes[k];
      var bar = add(line, "span", "", "bar");
      add(bar, "span").style.width = share[1] + "%";
      if (before) add(bar, "span", "", "was").style.left = "calc(" + record.shares[before[k]][1] + "% - 1px)";
      add(line, "span", joined(share[0]));
    });
    if (order.length > CLASSES_SHOWN) {
      add(box, "div", "and " + (order.length - CLASSES_SHOWN) + " more classes", "small");
    }
  }
  function asked(step) { return record.questions[step[0]] + " (" + words(step[2]) + ")"; }
  function showQuestion() {
    var step = current()[4][shown], guessing = part("play-guess").checked && !ended;
    part("play-choosing").hidden = !guessing;
    part("play-question").textContent = ended ? words(current()[1])
      : guessing ? "What does it do next?"
      : step ? "Next question: " + asked(step)
      : shown ? "It asks no more." : "Nothing is acquired.";
    part("play-next").textContent = ended ? "next case" : step || guessing ? "next" : "show the answer";
    if (guessing) showChoices();
  }
  function showChoices() {
    var choice = part("play-choice"), known = {};
    current()[4].slice(0, shown).forEach(function (step) { known[step[0]] = true; });
    choice.textContent = "";
    add(choice, "option", "choose").value = "";
    add(choice, "option", "it answers now").value = "-1";
    record.questions.forEach(function (name, j) {
      if (!known[j]) add(choice, "option", name).value = String(j);
    });
  }
  function verdictOnGuess(step) {
    var choice = part("play-choice").value;
    if (!part("play-guess").checked || choice === "") return "";
    return choice === String(step ? step[0] : -1) ? "Your guess is right. " : "Your guess is wrong. ";
  }
  function next() {
    if (ended) {
      row = (row + 1) % record.settings[setting].cases.length;
      part("play-case").value = String(row);
      begin();
      return;
    }
    var step = current()[4][shown], guess = verdictOnGuess(step);
    if (step) {
      shown += 1;
      var line = add(part("play-steps"), "li", words(step[1]) + " ");
      add(line, "span", words(step[2]), "small");
      add(line, "span", "→ " + words(step[4]), "belief");
      part("play-news").textContent = guess + words(step[1]) + ": " + words(step[4]) + "; " + words(step[3]) + ".";
      showShares();
    } else {
      ended = true;
      part("play-card").className = current()[0] ? "card" : "card wrong";
      part("play-news").textContent = guess + words(current()[2]) + ".";
    }
    showQuestion();
  }

  if (part("price")) {
    part("price").hidden = false;
    part("price-slider").addEventListener("input", function (event) {
      move(Number(event.target.value));
      showAnswer();
    });
  }
  if (part("play")) {
    part("play").hidden = false;
    part("play-static").hidden = true;
    part("play-setting").addEventListener("change", function (event) {
      move(Number(event.target.value));
      showAnswer();
    });
    part("play-case").addEventListener("change", function (event) {
      row = Number(event.target.value);
      begin();
    });
    part("play-guess").addEventListener("change", showQuestion);
    part("play-next").addEventListener("click", next);
    part("play-again").addEventListener("click", begin);
  }
  move(setting);
  showAnswer();
})();
