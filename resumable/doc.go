// Package resumable downloads files and continues downloads that broke off.
//
// A [Partial] is the file that collects the content; it survives a killed process.
// [Download.Into] opens the content at the end of the Partial, appends until the
// content ends, and compares the digest; it retries errors that may pass. [Get] opens
// content over HTTP. The caller owns the file, its name and its lock.
//
// The package imports only the standard library: the agent uses it too.
package resumable
