package view

import (
	"regexp"
	"strings"
)

var (
	// address matches an IP address in an error of the network.
	address = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b|\[[0-9a-fA-F:.]+(%\w+)?\]`)
	// pause matches the wait before the next attempt, which is random for each host.
	pause = regexp.MustCompile(`trying again in \S+`)
)

// NormalizeHosts replaces what differs between hosts in a text: the host's name as a
// word, addresses, and the wait before an attempt. Hundreds of hosts that fail for
// one reason then have the same text.
func NormalizeHosts(host, text string) string {
	if host != "" {
		text = regexp.MustCompile(`(^|[^\w.-])`+regexp.QuoteMeta(host)+`($|[^\w.-])`).ReplaceAllString(text, "${1}HOST${2}")
	}
	return pause.ReplaceAllLiteralString(address.ReplaceAllLiteralString(text, "ADDRESS"), "trying again")
}

// BesideHost removes the host's name from the start of a text that is shown beside
// it.
func BesideHost(host, text string) string { return strings.TrimPrefix(text, host+": ") }
