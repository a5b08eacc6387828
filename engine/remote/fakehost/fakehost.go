// Package fakehost plays the host of remote.Connect for tests: it answers the probe
// as a host does that has the agent already and lets everybody become root. A test
// can run a thousand such hosts without a shell and without a program file.
package fakehost

import (
	"errors"
	"io"
	"strings"

	"deployer/engine/protocol"
)

// ErrUnknownCommand is returned by [Answer] for a command line that is not the
// probe of remote.Connect.
var ErrUnknownCommand = errors.New("fake host: the command line is not the probe of remote.Connect")

// Answer answers the probe in line: it writes the probe's answers and the agent's
// banner to out, calls serve, which plays the agent, and returns the error of
// serve. Any other command line is an ErrUnknownCommand, and serve is not called.
func Answer(line string, out io.Writer, serve func() error) error {
	// sh -c 'OUTER' deployer 'INNER' MARKER METHOD 'DIGEST' ...
	parts := strings.Split(line, "'")
	if len(parts) < 5 || parts[0] != "sh -c " || parts[2] != " deployer " {
		return ErrUnknownCommand
	}
	words := strings.Fields(parts[4])
	if len(words) != 2 || !strings.HasPrefix(words[0], "deployer-") {
		return ErrUnknownCommand
	}
	marker := words[0]
	answers := []string{"", marker, "uid=0", "", marker, "user=0", "system=Linux x86_64", "agent=present", "", protocol.Banner, ""}
	if _, err := io.WriteString(out, strings.Join(answers, "\n")); err != nil {
		return err
	}
	return serve()
}
