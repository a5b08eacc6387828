// Package fakehost plays the host of remote.Connect for tests: it answers the probe
// as a host does that has the agent already and lets everybody become root. A test
// can run a thousand such hosts without a shell and without a program file.
package fakehost

import (
	"errors"
	"io"
	"slices"
	"strings"

	"deployer/engine/protocol"
	"deployer/shellquote"
)

// ErrUnknownCommand is returned by [Answer] for a command line that is not the
// probe of remote.Connect.
var ErrUnknownCommand = errors.New("fake host: the command line is not the probe of remote.Connect")

// Answer plays the host for the command line of a probe: it writes the answers and the
// banner of the agent to out, calls serve, which plays the agent, and returns the error of
// serve. Any other command line is an ErrUnknownCommand, and serve is not called.
func Answer(line string, out io.Writer, serve func() error) error {
	// sh -c 'OUTER' deployer 'INNER' MARKER METHOD 'DIGEST' ...
	words, err := shellquote.Split(line)
	if err != nil || len(words) < 7 || !slices.Equal(words[:2], []string{"sh", "-c"}) || words[3] != "deployer" || !strings.HasPrefix(words[5], "deployer-") {
		return ErrUnknownCommand
	}
	marker := words[5]
	answers := []string{"", marker, "uid=0", "", marker, "user=0", "system=Linux x86_64", "agent=present", "", protocol.Banner, ""}
	if _, err := io.WriteString(out, strings.Join(answers, "\n")); err != nil {
		return err
	}
	return serve()
}
