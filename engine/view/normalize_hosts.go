package view

import (
	"regexp"
	"strings"
)

var (
	// address is an IP address as errors of the network have it.
	address = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b|\[[0-9a-fA-F:.]+(%\w+)?\]`)
	// pause is how long is waited for the next attempt, which is a little different
	// for each host.
	pause = regexp.MustCompile(`trying again in \S+`)
)

// NormalizeHosts is a text without what tells one host from another: its name as a word,
// addresses, and the pause before an attempt. Hundreds of hosts that cannot be
// reached for one reason say the same then.
func NormalizeHosts(host, text string) string {
	if host != "" {
		text = regexp.MustCompile(`(^|[^\w.-])`+regexp.QuoteMeta(host)+`($|[^\w.-])`).ReplaceAllString(text, "${1}HOST${2}")
	}
	return pause.ReplaceAllLiteralString(address.ReplaceAllLiteralString(text, "ADDRESS"), "trying again")
}

// BesideHost is a text that stands beside the host's name already.
func BesideHost(host, text string) string { return strings.TrimPrefix(text, host+": ") }
