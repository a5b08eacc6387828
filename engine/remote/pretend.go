package remote

import (
	"errors"
	"io"
	"strings"

	"deployer/engine/wire"
)

// ErrNotForPretend is returned by Pretend for a command line that is not one of
// Connect.
var ErrNotForPretend = errors.New("this made-up host only knows the commands of deployer")

// Pretend answers a command line of Connect the way a host does that has the
// agent already and lets everybody become root; serve, which is called then, is
// that agent. So a thousand made-up hosts need neither a shell nor a program. It
// returns when serve does.
func Pretend(line string, out io.Writer, serve func() error) error {
	// sh -c 'OUTER' deployer 'INNER' MARKER METHOD 'DIGEST' ...
	parts := strings.Split(line, "'")
	if len(parts) < 5 || parts[1] != outerScript || parts[3] != innerScript {
		return ErrNotForPretend
	}
	words := strings.Fields(parts[4])
	if len(words) != 2 {
		return ErrNotForPretend
	}
	answers := []string{"", words[0], "uid=0", "", words[0], "user=0", "system=Linux x86_64", "agent=present", "", wire.Banner, ""}
	if _, err := io.WriteString(out, strings.Join(answers, "\n")); err != nil {
		return err
	}
	return serve()
}
