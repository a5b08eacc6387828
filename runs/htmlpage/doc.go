// Package htmlpage makes the HTML page of a run: one file that needs no other, with the
// failures, the lanes of all hosts over time, the critical path, the slowest steps, and the
// waits with the hosts that caused them.
//
// [New] makes the typed view model, a [Page], of a log; [Page.Write] renders it with
// the embedded template, style and script. Tables hold all contents of the page; the
// script draws the visible lanes and lists the steps of the selected host.
//
// Names of hosts and steps and the texts of errors are hostile. These texts reach the page through
// html/template only, and the script puts them into text nodes only. The
// Content-Security-Policy of the page allows the style and the script of this package, by
// their SHA-256, and no request to anywhere.
package htmlpage
