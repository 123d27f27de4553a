/** How edits are made: by positions in the syntax, so that what is not touched stays as it is, marks included. */
import MagicString from "magic-string";
import type ts from "typescript";
import { type Project, parse } from "../project.js";

/** A way of editing a project, at one place at a time. */
export interface Edit {
  readonly family: string;
  readonly name: string;
  /** Where it can be made. */
  places(project: Project): readonly ts.Node[];
  apply(editing: Editing, place: ts.Node): void;
  /** What cannot be done synchronously; before `apply`. */
  prepare?(project: Project): Promise<void>;
}

export type Way = Omit<Edit, "family" | "name">;

/** Edits of one family, as they are written down. */
export function family(name: string, edits: Record<string, Way>): Edit[] {
  return Object.entries(edits).map(([kind, edit]) => ({ family: name, name: kind, ...edit }));
}

/** An edit at nodes of one type, which `places` finds. */
export function at<T extends ts.Node>(
  places: (project: Project) => readonly T[],
  apply: (editing: Editing, place: T) => void,
): Way {
  return { places, apply: (editing, place) => apply(editing, place as T) };
}

const parsed = new WeakMap<Project, ReadonlyMap<string, ts.SourceFile>>();

export function filesOf(project: Project): ts.SourceFile[] {
  let files = parsed.get(project);
  if (files === undefined) {
    files = new Map([...project.files].map(([path, text]) => [path, parse(path, text)]));
    parsed.set(project, files);
  }
  return [...files.values()];
}

export function mainOf(project: Project): ts.SourceFile {
  filesOf(project);
  return parsed.get(project)!.get(project.main)!;
}

/** Of the file that a node is in. */
export function pathOf(node: ts.Node): string {
  return node.getSourceFile().fileName.slice(1);
}

/** Edits that are being made to a project. */
export class Editing {
  private readonly texts = new Map<string, MagicString>();
  private readonly added = new Map<string, string>();
  private readonly renamed = new Map<string, string>();

  constructor(readonly project: Project) {}

  replace(node: ts.Node, text: string): void {
    this.of(node).update(node.getStart(), node.end, text);
  }

  /** Replaces what stands from one position to another in the file of a node. */
  replaceFrom(node: ts.Node, from: number, to: number, text: string): void {
    this.of(node).update(from, to, text);
  }

  remove(node: ts.Node): void {
    this.of(node).remove(node.getStart(), node.end);
  }

  /** Puts texts around a node. */
  wrap(node: ts.Node, before: string, after: string): void {
    this.of(node).appendRight(node.getStart(), before).prependLeft(node.end, after);
  }

  before(node: ts.Node, text: string): void {
    this.of(node).prependRight(node.getStart(), text);
  }

  after(node: ts.Node, text: string): void {
    this.of(node).appendLeft(node.end, text);
  }

  insert(file: ts.SourceFile, position: number, text: string): void {
    this.of(file).appendLeft(position, text);
  }

  /** Moves a node, with what is done inside it, to a position; one that is there stays. */
  move(node: ts.Node, position: number): void {
    if (node.getStart() <= position && position <= node.end) return;
    this.of(node).move(node.getStart(), node.end, position);
  }

  /** The text of a node as it was. */
  text(node: ts.Node): string {
    return node.getText();
  }

  addFile(path: string, text: string): void {
    this.added.set(path, text);
  }

  renameFile(from: string, to: string): void {
    this.renamed.set(from, to);
  }

  /** Replaces a whole file. */
  rewrite(file: ts.SourceFile, text: string): void {
    this.texts.set(pathOf(file), new MagicString(text));
  }

  /** The project with the edits. */
  result(): Project {
    const files = new Map(
      [...this.project.files].map(([path, text]) => [
        this.renamed.get(path) ?? path,
        this.texts.get(path)?.toString() ?? text,
      ]),
    );
    for (const [path, text] of this.added) files.set(path, text);
    const { main } = this.project;
    return { main: this.renamed.get(main) ?? main, files };
  }

  private of(node: ts.Node): MagicString {
    const path = pathOf(node);
    let text = this.texts.get(path);
    if (text === undefined) {
      text = new MagicString(this.project.files.get(path)!);
      this.texts.set(path, text);
    }
    return text;
  }
}

export async function edited(project: Project, edit: Edit, place: ts.Node): Promise<Project> {
  await edit.prepare?.(project);
  const editing = new Editing(project);
  edit.apply(editing, place);
  return editing.result();
}
