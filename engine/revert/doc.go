// Package revert turns a program into the one that puts back what a run of it
// has changed. It contacts nobody: what hosts know of the run comes in, a program
// comes out, which the scheduler carries out like any other.
//
// # The way back
//
// Plays come in reverse order, with the same hosts, batches and budgets. In each,
// and in each throttled block, the steps are put back, the last first; then come,
// the first first, what had to wait until files are back (units that start), the
// gates of the part, which are tasks that only wait or make what runs follow its
// files (engine.Gate), and the handlers of the steps that were put back. So
// masters go back one by one, each held until it serves again. Barriers stand
// where they stood, and what needed a label comes before what the label stood
// behind.
//
// A step of the way back looks up on its host what there is to put back, so it
// does not matter which items a loop had or which conditions held. What the
// program does not name any more, because it was edited since, is put back at the
// end, on one host at a time.
//
// # What is left out
//
// Gates and handlers of a part are left out on hosts where the run had brought a
// unit or package into being or started a unit, or nothing but new things: there is nothing to wait
// for once it is gone. So are those that use what only a step of the run could
// have registered; lookers (engine.Looker) are asked again before the way back,
// if something needs them. A throttle that cannot be computed is 1.
package revert
