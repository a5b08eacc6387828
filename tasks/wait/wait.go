// Package wait has the module that waits for a condition on the host: a port, path,
// socket, HTTP response or command.
package wait

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/httpcheck"
	"deployer/tasks/poll"
)

// Condition waits until all given conditions are met. Condition changes nothing.
type Condition struct {
	Host        string          `yaml:"host" rule:"host" doc:"name or address for port; default 127.0.0.1"`
	Port        int             `yaml:"port" range:"1..65535" doc:"TCP port that must accept connections"`
	Path        string          `yaml:"path" rule:"path" doc:"absolute path that must exist"`
	Follow      bool            `yaml:"follow" doc:"follow symbolic links of other users to path; links of root are followed in any case. Default false"`
	SearchRegex string          `yaml:"search_regex" rule:"regexp" doc:"regular expression (Go's syntax) that the content of path must match; default none"`
	Socket      string          `yaml:"socket" rule:"path" doc:"path of a Unix socket that must accept connections"`
	HTTP        *httpcheck.HTTP `yaml:"http" doc:"HTTP request whose response must be as expected"`
	Command     hostcmd.Words   `yaml:"command" rule:"text" doc:"program that must end with exit code 0, as a list or a text, without a shell. It must change nothing"`
	State       string          `yaml:"state" enum:"started,present,stopped,absent,drained" doc:"started or present: everything given must be so; stopped or absent: port and socket refuse connections, path is missing or does not match; drained: this host has no open connection to port. Default started"`
	Delay       time.Duration   `yaml:"delay" range:"0s.." doc:"wait before the first attempt; alone it is a pause. Default none"`
	Timeout     time.Duration   `yaml:"timeout" range:"0s.." doc:"maximum total wait; default 60s"`
	Interval    time.Duration   `yaml:"interval" range:"0s.." doc:"time between two attempts; default 200ms"`
	Msg         string          `yaml:"msg" rule:"text" doc:"error after the timeout, before the reason; default: the time waited"`
}

var _ engine.Module = (*Condition)(nil)

// Valid implements engine.Validator.
func (w *Condition) Valid() error {
	gone := w.State == "stopped" || w.State == "absent"
	switch {
	case w.Port == 0 && w.Path == "" && w.Socket == "" && w.HTTP == nil && len(w.Command) == 0 && w.Delay == 0:
		return errors.New("port, path, socket, http, command or delay is required")
	case w.State == "drained" && w.Port == 0:
		return errors.New("state drained requires port")
	case (gone || w.State == "drained") && (w.HTTP != nil || len(w.Command) > 0):
		return fmt.Errorf("state %s cannot be combined with http or command, which state what they expect", w.State)
	case w.Path != "" && !filepath.IsAbs(w.Path):
		return fmt.Errorf("path %q is not absolute", w.Path)
	case w.SearchRegex != "" && w.Path == "":
		return errors.New("search_regex requires path")
	}
	_, err := regexp.Compile(w.SearchRegex)
	return err
}

// Check evaluates the conditions once. Apply waits for those that are not met, so that a
// dry run does not wait for a service that it has not started.
func (w *Condition) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := w.Valid(); err != nil {
		return engine.Change{}, err
	}
	if w.Delay == 0 && w.try(ctx, sys) == nil {
		return engine.NoChange(engine.Output{"waited": false}), nil
	}
	return engine.Change{Needed: true, Wait: true}, nil
}

// Apply polls until all conditions are met.
func (w *Condition) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	timeout := cmp.Or(w.Timeout, time.Minute)
	began := time.Now()
	if err := w.pause(ctx, sys); err != nil {
		return nil, err
	}
	err := httpcheck.Poll(ctx, timeout-w.Delay, cmp.Or(w.Interval, 200*time.Millisecond), func(why string) {
		sys.Progress(fmt.Sprintf("waiting up to %s: %s", timeout, why))
	}, func(ctx context.Context) error { return w.try(ctx, sys) })
	elapsed := time.Since(began)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(w.Msg, fmt.Sprintf("timeout after %s", elapsed.Round(time.Second))), err)
	}
	return engine.Output{"waited": true, "elapsed_seconds": elapsed.Seconds()}, nil
}

func (w *Condition) pause(ctx context.Context, sys engine.System) error {
	if w.Delay == 0 {
		return nil
	}
	sys.Progress("pausing for " + w.Delay.String())
	return poll.Sleep(ctx, w.Delay)
}

// Gate repeats the wait after a revert.
func (w *Condition) Gate() any { return w }
