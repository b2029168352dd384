// What JupyterLab does with the pictures of a notebook, once medn_edu is installed next to it:
// - a picture tells screen readers what it shows, as its output says;
// - a notebook is saved with the pictures that its explorers show, and not with those they began with;
// - a notebook that is opened again shows these, until its cells are run.
// JupyterLab finds this file in share/jupyter/labextensions; it needs no build.

const VIEW = "application/vnd.jupyter.widget-view+json";
const PNG = "image/png";
const PATIENCE = 400; // ms that a live figure may take before the saved one is shown

const base64 = (view) => {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
};

// Say what a picture shows, and that it can move.
function describe(renderer) {
  const render = renderer.renderModel.bind(renderer);
  renderer.renderModel = async (output) => {
    await render(output);
    const image = renderer.node.querySelector("img");
    if (image) image.alt = output.metadata[PNG]?.alt ?? "";
    if (!output.metadata.medn_edu?.moves) return;
    for (const text of [output.data["text/plain"], "A saved picture: run this cell to move it."]) {
      const line = document.createElement("p");
      line.textContent = text;
      renderer.node.append(line);
    }
  };
}

// Show what was saved where the widget that made it has gone with its kernel.
function standIn(renderer, rendermime, live) {
  const render = renderer.renderModel.bind(renderer);
  const { node } = renderer;
  const lives = () => renderer.widgets.length > 0;
  let shown = "";

  const showSaved = async (output) => {
    const data = { ...output.data };
    delete data[VIEW];
    const mime = rendermime.preferredMimeType(data, "any");
    if (lives() || !mime || mime === "text/plain") return;
    const { metadata, trusted } = output;
    const still = rendermime.createRenderer(mime);
    await still.renderModel(rendermime.createModel({ data, metadata, trusted }));
    if (lives()) return;
    node.replaceChildren(still.node);
  };

  renderer.renderModel = async (output) => {
    const { model_id: id } = output.data[VIEW];
    if (id === shown && lives()) return; // only what was saved next to it has changed
    shown = id;
    live.set(id, node);
    const timer = setTimeout(showSaved, PATIENCE, output);
    await render(output);
    clearTimeout(timer);
    await showSaved(output);
  };
}

// Put what explorers now show into the outputs that are about to be saved.
function renew(cells, live) {
  for (const cell of cells) {
    const outputs = cell.model.outputs;
    for (let i = 0; i < (outputs?.length ?? 0); i++) {
      const output = outputs.get(i).toJSON();
      const root = live.get(output.data?.[VIEW]?.model_id)?.querySelector(".medn-explorer");
      if (!root?.frame || !(Number(root.dataset.shown) > 1)) continue;
      const { png, alt, summary } = root.frame;
      // One that was drawn for little room would be blurred if it were shown as large as ever.
      const width = Math.min(parseInt(root.style.maxWidth), root.querySelector("img").naturalWidth);
      const picture = base64(png);
      if (output.data[PNG] === picture) continue;
      const data = { ...output.data, [PNG]: picture, "text/plain": summary };
      const metadata = { ...output.metadata, [PNG]: { ...output.metadata[PNG], alt, width } };
      outputs.set(i, { ...output, data, metadata });
    }
  }
}

const plugin = {
  id: "medn_edu:pictures",
  autoStart: true,
  activate: (app) => {
    app.docRegistry?.addWidgetExtension("Notebook", {
      createNew: (panel, context) => {
        const { rendermime } = panel.content;
        const live = new Map(); // the page's node of each widget
        const make = rendermime.createRenderer.bind(rendermime);
        rendermime.createRenderer = (mime) => {
          const renderer = make(mime);
          if (mime === PNG) describe(renderer);
          if (mime === VIEW) standIn(renderer, rendermime, live);
          return renderer;
        };
        context.saveState.connect((_, state) => {
          if (state === "started") renew(panel.content.widgets, live);
        });
      },
    });
  },
};

window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB.medn_edu = { init: () => {}, get: async () => () => ({ __esModule: true, default: plugin }) };
