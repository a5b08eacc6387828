// Package diagram draws a compiled playbook: its plays, their steps, and the places at which
// hosts wait for each other.
//
// [New] makes a [Diagram] of a program, with which the three forms agree: [Diagram.DOT] for
// Graphviz, [Diagram.Mermaid] for pages in Markdown, and [Diagram.SVG], a picture that needs
// no other program. The package does no I/O, and the same program gives the same bytes.
// Names of plays and steps are those of the playbook; each form escapes them.
package diagram
