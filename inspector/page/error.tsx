/** An error with its causes; and, where a record did not fit the code, what was recorded beside what was asked for. */
import type { ComponentChildren, JSX } from "preact";
import type { ErrorView } from "../wire.js";
import { characters } from "./format.js";
import { Text } from "./value.js";

type Side = NonNullable<ErrorView["recorded"]>;

export function ErrorText({
  error,
  onSelect,
}: {
  error: ErrorView;
  onSelect?: ((key: string) => void) | undefined;
}): JSX.Element {
  const { name, message, messageLength, code, stack, fields, cause, errors } = error;
  const isMisfit = error.recorded !== undefined || error.asked !== undefined;
  return (
    <div class="error">
      <p class="error-head">
        <bdi class="error-name">{name || "Thrown"}</bdi>
        {code !== undefined && <bdi class="badge">{code}</bdi>}
      </p>
      {isMisfit && <Comparison recorded={error.recorded} asked={error.asked} onSelect={onSelect} />}
      <p class="error-message">
        <bdi>{message}</bdi>
      </p>
      {messageLength !== undefined && (
        <p class="muted">The message has {characters(messageLength)}; this is its beginning.</p>
      )}
      {fields !== undefined && <Text label="fields of the error">{fields}</Text>}
      {stack !== undefined && stack !== "" && (
        <details>
          <summary>Stack</summary>
          <Text label="stack" class="stack">
            {stack}
          </Text>
        </details>
      )}
      {cause !== undefined && (
        <div class="cause">
          <p class="cause-head">Caused by</p>
          <ErrorText error={cause} onSelect={onSelect} />
        </div>
      )}
      {errors?.map((each, index) => (
        <div class="cause" key={index}>
          <p class="cause-head">{`Error ${index + 1} of ${errors.length}`}</p>
          <ErrorText error={each} onSelect={onSelect} />
        </div>
      ))}
    </div>
  );
}

interface ComparisonProps {
  recorded: Side | undefined;
  asked: Side | undefined;
  onSelect: ((key: string) => void) | undefined;
}

const lines: ReadonlyArray<readonly [field: keyof Side, label: string]> = [
  ["kind", "Kind"],
  ["name", "Call"],
  ["args", "Arguments"],
  ["at", "Place"],
  ["key", "Key"],
];

function Comparison({ recorded, asked, onSelect }: ComparisonProps): JSX.Element {
  return (
    <div class="comparison-box">
      <table class="comparison">
        <thead>
          <tr>
            <td />
            <th scope="col">Recorded</th>
            <th scope="col">Asked for</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(([field, label]) => {
            const [one, other] = [recorded?.[field] ?? "", asked?.[field] ?? ""];
            const differ = recorded !== undefined && asked !== undefined && one !== other;
            return (
              <tr key={field} class={differ ? "differs" : ""}>
                <th scope="row">
                  {label}
                  {differ && <span class="unseen"> (differs)</span>}
                </th>
                <td>
                  {recorded === undefined
                    ? nothing("nothing recorded", field)
                    : shown(field, one, other, differ, onSelect)}
                </td>
                <td>
                  {asked === undefined ? nothing("not asked for", field) : shown(field, other, one, differ, undefined)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function nothing(words: string, field: keyof Side): ComponentChildren {
  return field === "kind" ? <span class="muted">{words}</span> : "";
}

function shown(
  field: keyof Side,
  text: string,
  other: string,
  differ: boolean,
  onSelect: ((key: string) => void) | undefined,
): ComponentChildren {
  if (text === "") return <span class="muted">{field === "args" ? "none" : "—"}</span>;
  if (field === "key" && onSelect !== undefined)
    return (
      <button type="button" class="link" onClick={() => onSelect(text)}>
        <bdi>{text}</bdi>
      </button>
    );
  return <bdi>{differ && (field === "args" || field === "key" || field === "at") ? apart(text, other) : text}</bdi>;
}

/** The text with the part in which it differs set apart. */
function apart(text: string, other: string): ComponentChildren {
  const most = Math.min(text.length, other.length);
  let start = 0;
  while (start < most && text[start] === other[start]) start++;
  let end = 0;
  while (end < most - start && text[text.length - 1 - end] === other[other.length - 1 - end]) end++;
  if (isHalf(text, start)) start--;
  if (isHalf(text, text.length - end)) end--;
  return (
    <>
      {text.slice(0, start)}
      <mark>{text.slice(start, text.length - end)}</mark>
      {text.slice(text.length - end)}
    </>
  );
}

/** Whether a cut there would go through a surrogate pair. */
function isHalf(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  return before >= 0xd800 && before <= 0xdbff;
}
