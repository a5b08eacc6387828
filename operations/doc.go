// Package operations carries out what is done to a cluster as a whole: apply, upgrades with
// their rollback, reverts. An operation prepares runs, decides what follows from what they
// found, asks before it changes anything, and ends with an error that says how. It needs no
// terminal: whoever starts it is a [Caller], which shows events and results and answers
// questions.
package operations
