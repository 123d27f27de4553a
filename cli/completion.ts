/** What shells complete, made of the commands' options and arguments. */
import type { Command, Option } from "./command.js";

/** A command by its name, with what the list of commands says of it. */
export interface NamedCommand {
  readonly name: string;
  readonly summary: string;
  readonly command: Command;
}

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** What stands in a place: one of these words, a path, the id of a run, or anything. */
type Kind = { readonly words: readonly string[] } | "file" | "folder" | "run" | "any";

/** What names of values and arguments stand for. */
const kinds: Readonly<Record<string, Kind>> = {
  FILE: "file",
  MODULE: "file",
  "FILE, FOLDER": "file",
  FOLDER: "folder",
  RUN: "run",
  SHELL: { words: shells },
};

function kindOf(name: string | undefined, choices?: readonly string[]): Kind {
  if (choices !== undefined) return { words: choices };
  return (name !== undefined && Object.hasOwn(kinds, name) && kinds[name]) || "any";
}

/** The ids of the runs in the default store, by a command that every shell takes. */
const listRuns = "stepmark runs --limit 200 2>/dev/null | cut -d' ' -f1";

export function completionOf(shell: Shell, commands: readonly NamedCommand[]): string {
  return { bash, zsh, fish }[shell](commands);
}

// --- bash --------------------------------------------------------------------------------------------------------------

function bash(commands: readonly NamedCommand[]): string {
  const values = commands.flatMap(({ name, command }) =>
    Object.entries(command.options)
      .filter(([, { type }]) => type === "string")
      .map(
        ([option, { value, choices }]) => `    "${name} --${option}") ${bashReply(kindOf(value, choices))}; return ;;`,
      ),
  );
  const cases = commands.map(({ name, command }) => {
    const words = [...Object.keys(command.options).map((option) => `--${option}`), "--help"].join(" ");
    return `    ${name}) options="${words}"; ${bashReply(argumentOf(command))} ;;`;
  });
  return `# bash completion of stepmark: source <(stepmark completion bash)
_stepmark() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="\${COMP_WORDS[1]}" options=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(" ")} --help --version" -- "$current"))
    return
  fi
  case "$command $previous" in
${values.join("\n")}
  esac
  case "$command" in
${cases.join("\n")}
  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  fi
}
complete -F _stepmark stepmark`;
}

function bashReply(kind: Kind): string {
  if (kind === "file") return 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current"))';
  if (kind === "folder") return 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$current"))';
  if (kind === "run") return `[[ "$current" == -* ]] || COMPREPLY=($(compgen -W "$(${listRuns})" -- "$current"))`;
  if (kind === "any") return "COMPREPLY=()";
  return `COMPREPLY=($(compgen -W "${kind.words.join(" ")}" -- "$current"))`;
}

// --- zsh ---------------------------------------------------------------------------------------------------------------

function zsh(commands: readonly NamedCommand[]): string {
  const list = commands.map(({ name, summary }) => `    ${zshQuoted(`${name}:${summary}`)}`);
  const cases = commands.map(({ name, command }) => {
    const options = Object.entries(command.options).map(([option, details]) => zshOption(option, details));
    const specs = [
      ...options,
      "'--help[what it does]'",
      `'*:${Object.keys(command.arguments ?? {})[0] ?? ""}:${zshAction(argumentOf(command))}'`,
    ];
    return `    ${name}) _arguments ${specs.join(" ")} ;;`;
  });
  return `#compdef stepmark
# zsh completion of stepmark: source <(stepmark completion zsh)
_stepmark_runs() {
  local -a ids=(\${(f)"$(${listRuns})"})
  compadd -a ids
}
_stepmark() {
  local -a commands=(
${list.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join("\n")}
  esac
}
compdef _stepmark stepmark`;
}

function zshOption(name: string, { type, multiple, value, choices, help }: Option): string {
  const action = type === "boolean" ? "" : `:${value ?? ""}:${zshAction(kindOf(value, choices))}`;
  const spec = `${multiple ? "*" : ""}--${name}[${help.replace(/[[\]:\\]/g, "\\$&")}]${action}`;
  return zshQuoted(spec);
}

function zshAction(kind: Kind): string {
  if (kind === "file") return "_files";
  if (kind === "folder") return "_files -/";
  if (kind === "run") return "_stepmark_runs";
  return kind === "any" ? " " : `(${kind.words.join(" ")})`;
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

// --- fish --------------------------------------------------------------------------------------------------------------

function fish(commands: readonly NamedCommand[]): string {
  const lines = commands.flatMap(({ name, summary, command }) => {
    const here = `complete -c stepmark -n '__fish_seen_subcommand_from ${name}'`;
    const argument = argumentOf(command);
    return [
      `complete -c stepmark -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`,
      ...(argument === "file" || argument === "folder" ? [`${here} -F`] : []),
      ...(argument === "run" ? [`${here} -a "(${listRuns})"`] : []),
      ...(typeof argument === "object" ? [`${here} -a "${argument.words.join(" ")}"`] : []),
      ...Object.entries(command.options).map(([option, { type, value, choices, help }]) => {
        const kind = kindOf(value, choices);
        const takes =
          type === "boolean"
            ? ""
            : typeof kind === "object"
              ? ` -x -a "${kind.words.join(" ")}"`
              : kind === "any"
                ? " -x"
                : " -r -F";
        return `${here} -l ${option}${takes} -d ${fishQuoted(help)}`;
      }),
    ];
  });
  return ["# fish completion of stepmark: stepmark completion fish | source", "complete -c stepmark -f", ...lines].join(
    "\n",
  );
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** What its first argument is; that of the others is not told. */
function argumentOf({ arguments: names = {} }: Command): Kind {
  return kindOf(Object.keys(names)[0]);
}
