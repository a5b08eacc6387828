package kubelet

import (
	"context"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/unit"
)

// process is the main process of a unit as the module unit_process reports it.
// Times are those of the host's clock.
type process struct {
	Unit       string    `json:"-"`
	Load       string    `json:"load_state"`
	Active     string    `json:"active_state"`
	Result     string    `json:"result"`
	PID        int       `json:"main_pid"`
	Invocation string    `json:"invocation"`
	Restarts   int       `json:"restarts"`
	Started    time.Time `json:"-"`
	Now        time.Time `json:"now"`
	Journal    string    `json:"journal"`
}

func (p process) up() bool { return p.Active == "active" && p.PID > 0 }

func (p process) missing() bool { return p.Load == "not-found" }

func (p process) state() string {
	if p.Result != "" && p.Result != "success" {
		return fmt.Sprintf("%s (%s)", p.Active, p.Result)
	}
	return p.Active
}

// readProcess reads the state of a unit on a host; with log, the end of its journal too.
func readProcess(ctx context.Context, actx engine.ActionContext, host, name string, log bool) (process, error) {
	p := process{Unit: name}
	res, err := actx.RunOn(ctx, host, "unit_process", &unit.Process{Name: name, Log: log})
	if err == nil && res.Failure != nil {
		err = res.Failure
	}
	if err != nil {
		return p, fmt.Errorf("reading the state of %s on %s: %w", name, host, err)
	}
	if err = res.Output.Decode(&p); err == nil {
		if started, _ := res.Output["started"].(string); started != "" {
			p.Started, err = time.Parse(time.RFC3339Nano, started)
		}
	}
	if err != nil {
		return p, fmt.Errorf("reading the state of %s on %s: %w", name, host, err)
	}
	return p, nil
}

// maxReason is the maximum length in bytes of a log line in a message.
const maxReason = 400

// reason returns the last line of a journal that mentions an error, without journalctl's
// prefix; empty without one.
func reason(journal string) string {
	lines := strings.Split(strings.TrimSpace(journal), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := lines[i]
		for _, sign := range []string{`err="`, "Error: ", "panic: ", "fatal error: "} {
			if at := strings.Index(line, sign); at >= 0 {
				return shorten(line[at:])
			}
		}
	}
	return ""
}

func shorten(text string) string {
	if len(text) > maxReason {
		return strings.ToValidUTF8(text[:maxReason], "") + "..."
	}
	return text
}
