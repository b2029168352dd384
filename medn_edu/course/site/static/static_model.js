// Explorers without a kernel.  What `render` asks of its model is answered from a pack of frames, a
// classic script that is loaded when its figure comes near: modules and fetch fail on file://.
// A frame is the page's own picture with overlays on it.

const root = document.documentElement.dataset.content_root ?? "./";

class StaticModel {
  constructor(spec, still) {
    const summary = still.nextElementSibling.textContent;
    const frame = { png: -1, alt: still.alt, summary, positions: spec.start, view: "", serial: 0 };
    this.values = { ...spec, frame, waiting: "Waiting for the pictures…" };
    this.still = still;
    this.listeners = [];
    this.last = spec.start;
  }

  get(key) { return this.values[key]; }
  on(event, action) { this.listeners.push([event, action]); }
  off(event, action) { this.listeners = this.listeners.filter(([e, a]) => e !== event || a !== action); }
  tell(event, ...what) { for (const [e, action] of this.listeners) if (e === event) action(...what); }

  load() {
    this.pack ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${root}frames/${this.values.frames}.js`;
      script.onload = () => resolve(window.medn_frames[this.values.frames]);
      script.onerror = reject;
      document.head.append(script);
    });
    return this.pack;
  }

  // The most similar setting; the control that was moved counts most, so that it moves something.
  async nearest(positions) {
    const { at } = await this.load();
    const specs = this.values.controls.map((spec) => ({
      name: spec.name,
      scale: ["choice", "check"].includes(spec.kind) ? 0 : spec.texts.length - 1 || 1,
      weight: positions[spec.name] === this.last[spec.name] ? 1 : 10,
    }));
    const apart = (found) => specs.reduce((sum, { name, scale, weight }, k) => {
      const by = Math.abs(found[k] - positions[name]);
      return sum + weight * (scale ? by / scale : Number(by > 0));
    }, 0);
    const distances = at.map(apart);
    return distances.indexOf(Math.min(...distances));
  }

  async frame(positions) {
    const pack = await this.load();
    const i = await this.nearest(positions);
    const others = this.values.controls.flatMap(({ name, label, texts }, k) =>
      pack.at[i][k] === positions[name] ? [] : [`${label}: ${texts[pack.at[i][k]]}`]);
    const note = others.length ? `This page has no picture of that; the nearest is at ${others.join(", ")}. ` : "";
    return { png: i, alt: pack.alt[i], summary: note + pack.summary[i] };
  }

  async send({ kind, view, serial, positions, have }) {
    if (kind !== "draw" && kind !== "stack") return;
    try {
      if (kind === "draw") {
        const frame = await this.frame(positions);
        this.last = positions;
        this.show({ ...frame, positions, view, serial });
      } else {
        const time = this.values.controls.find((spec) => spec.kind === "time");
        const position = time.texts.findIndex((_, i) => !have.includes(i));
        const frame = await this.frame({ ...positions, [time.name]: position });
        this.tell("msg:custom", { kind, view, serial, position, ...frame }, [frame.png]);
      }
    } catch {
      this.tell("msg:custom", { kind: "failed", view, serial, text: "The pictures of this figure can't be loaded." });
    }
  }

  show(frame) {
    this.values.frame = frame;
    this.tell("change:frame");
  }

  // What the explorer shows: the page's picture, and the overlays of a frame from the lowest to the highest.
  async picture(number, { alt, summary }) {
    const image = (src) => Object.assign(new Image(), { src, alt: "" });
    const layers = [];
    const pack = number < 0 ? null : await this.load();
    for (let i = number; i >= 0; i = pack.below[i]) {
      if (!pack.overlay[i]) continue;
      const layer = image(`data:image/webp;base64,${pack.overlay[i]}`);
      const [left, top, width] = pack.box[i];
      const [w, h] = this.values.size;
      layer.style = `left: ${100 * left / w}%; top: ${100 * top / h}%; width: ${100 * width / w}%`;
      layers.unshift(layer);
    }
    const base = image(this.still.src);
    await Promise.all([base, ...layers].map((each) => each.decode().catch(() => {})));
    const node = element("div", { class: "medn-layers", role: "img", "aria-label": alt }, base, ...layers);
    return Object.assign(node, { frame: { alt, summary } });
  }
}

// The lessons, each a button that makes its move and then says what there is to see.
const lessonsOf = (model) => {
  const box = element("div", { class: "medn-lessons" }, element("p", {}, "What to see. Press one, then look:"));
  for (const [move, { positions, facts }] of Object.entries(model.get("lessons"))) {
    const button = element("button", { type: "button" }, move);
    const fact = element("p", { role: "status" });
    button.addEventListener("click", async () => {
      fact.textContent = facts.join(" ");
      model.last = positions;
      model.show({ ...(await model.frame(positions)), positions, view: "", serial: 0 });
    });
    box.append(button, fact);
  }
  return box;
};

for (const script of document.querySelectorAll(".medn-figure script")) {
  const place = script.parentElement.querySelector(".medn-moves");
  const model = new StaticModel(JSON.parse(script.textContent), place.querySelector("img"));
  place.replaceChildren();
  render({ model, el: place });
  if (Object.keys(model.get("lessons")).length) place.append(lessonsOf(model));
  const near = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) model.load().then(() => near.disconnect(), () => {});
  }, { rootMargin: "800px" });
  near.observe(place);
}
