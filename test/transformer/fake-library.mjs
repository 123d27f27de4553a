// Stands in for the library while transformed code is executed: each function behaves alike with and without an
// identity, and reports the identity that it was given.
const behaviours = () => globalThis[Symbol.for("stepmark-test")];

function sited(name) {
  const plain = (...args) => behaviours().plain(name, args);
  return Object.assign(plain, {
    at: (frame, index, path, captures, ...args) => behaviours().sited(name, frame, index, path, captures, args),
  });
}

export const step = sited("step");
export const waitFor = sited("waitFor");
export const sleep = sited("sleep");
export const now = sited("now");
export const random = sited("random");
export const uuid = sited("uuid");
export const child = sited("child");
export const publish = sited("publish");
export const workflow = (_name, fn) => fn;
export const keyed = (items, by) => {
  const array = [...items];
  behaviours().keys.set(
    array,
    array.map((item, index) => String(by(item, index))),
  );
  return array;
};
export const stepContext = () => ({});
export const memoryStore = () => ({});
export const withoutRun = (fn) => fn();
