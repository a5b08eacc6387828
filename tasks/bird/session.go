package bird

import (
	"context"
	"slices"
	"strings"

	"deployer/engine"
)

// Session is a BGP protocol of BIRD.
type Session struct {
	Name string `json:"name"`
	// State is Established, or why it is not, in the words of BIRD: "Connect Socket: No route to host".
	State string `json:"state"`
	Since string `json:"since"` // time of the last change: of the day, or the date of an earlier one
}

// Sessions returns the BGP protocols of the BIRD that has a control socket, in its order.
func Sessions(ctx context.Context, sys engine.System, socket string) ([]Session, error) {
	lines, err := ask(ctx, sys.Path(socket), "show protocols")
	if err != nil {
		return nil, err
	}
	return parseSessions(lines), nil
}

// parseSessions parses the table of protocols: name, protocol, table, state, since, and
// for BGP the state of the session.
func parseSessions(lines []string) []Session {
	var all []Session
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) < 5 || f[1] != "BGP" {
			continue
		}
		s := Session{Name: f[0], State: f[3], Since: f[4]}
		if at := slices.Index(f[4:], Established); at >= 0 && f[3] == "up" {
			s.State = Established
		} else if len(f) > 5 {
			s.State = strings.Join(f[5:], " ")
		}
		all = append(all, s)
	}
	return all
}
