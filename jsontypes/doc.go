// Package jsontypes converts values to the types of variables: map[string]any, []any,
// string, bool, int for whole numbers, and float64. [FromGo] converts Go values such as
// structs, under their JSON names; [Normalize] converts what a decoder has made.
package jsontypes
