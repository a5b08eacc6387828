package kube

import (
	"context"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/control/poll"
)

// APIReady is the action `kube_ready`: a gate that opens when the API server
// of one master, asked directly, says that it is ready.
type APIReady struct {
	Host    string        `yaml:"host" doc:"Master of the API server; default: the host."`
	Timeout time.Duration `yaml:"timeout" doc:"Maximum wait; default 2m."`
}

// NewAPIReady returns the action with its defaults.
func NewAPIReady() *APIReady { return &APIReady{Timeout: 2 * time.Minute} }

// Check waits. In a dry run it looks once and fails at nothing.
func (a *APIReady) Check(ctx context.Context, site engine.ActionContext) (engine.Change, error) {
	host := a.Host
	if host == "" {
		host = site.Host()
	}
	access, err := open(ctx, site)
	if err != nil {
		return engine.Change{}, err
	}
	client, err := access.On(host)
	if err != nil {
		return engine.Change{}, err
	}
	if site.CheckOnly() {
		detail, ready := client.Readyz(ctx)
		return engine.NoChange(engine.Output{"ready": ready, "detail": detail}), nil
	}
	if err := WaitAPI(ctx, client, a.Timeout, site.Progress); err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(engine.Output{"ready": true}), nil
}

// Apply is never needed.
func (a *APIReady) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// WaitAPI waits until /readyz answers 200. When time is over the error says
// what the server said last: which of its checks fail.
func WaitAPI(ctx context.Context, c *Client, timeout time.Duration, progress func(string)) error {
	last := ""
	err := poll.Until(ctx, timeout, 250*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		state, ok := c.Readyz(ctx)
		if state != last && !ok {
			last = state
			progress("waiting: " + state)
		}
		return state, ok, nil
	})
	if err != nil {
		return fmt.Errorf("the API server is not ready: %w", err)
	}
	return nil
}

// readyTimeout leaves room for one master that does not take connections.
const readyTimeout = 2 * dialTimeout

// tries is how many API servers [Client.FindReady] asks; clusters with more than
// five masters are rare, and one of five is ready where any is.
const tries = 5

// FindReady looks for an API server that is ready, and leaves the client with
// it. When there is none it says what the last one that it asked answered.
func (c *Client) FindReady(ctx context.Context) (string, bool) {
	for n := 1; ; n++ {
		state, ok := c.Readyz(ctx)
		if ok || n == tries || c.another == nil || ctx.Err() != nil {
			return state, ok
		}
		c.another()
	}
}

// Readyz asks once whether the API server is ready, and says which of its checks
// fail when it is not. It takes at most readyTimeout.
func (c *Client) Readyz(ctx context.Context) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	status, body, err := c.Raw(ctx, "GET", "/readyz?verbose", nil)
	switch {
	case err != nil:
		return err.Error(), false
	case status == 200:
		return "ready", true
	}
	var failing []string
	for line := range strings.Lines(string(body)) {
		if text, bad := strings.CutPrefix(strings.TrimSpace(line), "[-]"); bad {
			failing = append(failing, strings.TrimSuffix(text, " failed: reason withheld"))
		}
	}
	if more := len(failing) - 3; more > 0 {
		failing = append(failing[:3], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("/readyz answers %d, not ok: %s", status, strings.Join(failing, ", ")), false
}

// Gate is the same wait.
func (a *APIReady) Gate() any { return a }
