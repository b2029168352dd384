// The browser's side of a question that is answered before looking: choices, and what is said to a guess.

const element = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

function render({ model, el }) {
  const name = crypto.randomUUID?.() ?? String(Math.random());
  const said = element("p", { class: "medn-said", role: "status" });
  const answer = element("details", {}, element("summary", {}, "What happens"), element("p"));
  const choices = model.get("choices").map((text, i) => {
    const input = element("input", { type: "radio", name, "data-lm-suppress-shortcuts": "true" });
    input.addEventListener("change", () => {
      model.set("guess", i);
      model.save_changes();
    });
    return [input, element("label", {}, input, text)];
  });
  const show = () => {
    const guess = model.get("guess");
    choices.forEach(([input], i) => { input.checked = i === guess; });
    said.textContent = model.get("said");
    answer.lastChild.textContent = model.get("answer");
    answer.hidden = guess < 0; // first a guess, then a look
  };
  const legend = element("legend", {}, `Predict, then look: ${model.get("asks")}`);
  el.append(
    element("fieldset", { class: "medn-question" }, legend, ...choices.map(([, label]) => label), said, answer),
  );
  model.on("change", show);
  show();

  // a guess that no kernel hears would be lost without a word
  const session = model.widget_manager?.context?.sessionContext;
  const end = () => {
    for (const [input] of choices) input.disabled = true;
    said.textContent = "The kernel was restarted: run this cell again.";
  };
  const onStatus = (_, status) => { if (status.endsWith("restarting")) end(); };
  session?.statusChanged.connect(onStatus);
  session?.kernelChanged.connect(end);
  return () => {
    model.off("change", show);
    session?.statusChanged.disconnect(onStatus);
    session?.kernelChanged.disconnect(end);
  };
}

export default { render };
