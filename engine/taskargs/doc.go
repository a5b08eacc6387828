// Package taskargs holds the arguments of a task as a playbook has them: a tree of YAML
// whose texts may be expressions. Package compile makes [Args] from that tree and from
// the Go type of the arguments; a task of package program decodes them for one host at a
// time. The type decides what becomes of a rendered text: a text stays a text, and
// a number, a list or a mapping gets the value of its expression.
//
// Two short forms become the long one before: a text or a list in the place of a mapping
// is the main argument ([LongForm]), and arguments written as NAME=VALUE are an error
// with advice ([RejectKeyValue]).
package taskargs
