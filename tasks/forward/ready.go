// Package forward has the gate for programs that forward requests: an API proxy, or
// kube-proxy with its rules. The gate passes when a forwarded request was answered.
package forward

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/httpcheck"
	"deployer/tasks/staticpod"
	"deployer/tasks/unit"
)

// Ready waits until a request through a proxy is answered. When the servers behind the proxy
// do not answer direct requests either, the proxy cannot be tested, and the wait ends.
type Ready struct {
	HTTP     httpcheck.HTTP `yaml:"http" required:"true" doc:"request that goes through the proxy"`
	Direct   []string       `yaml:"direct" rule:"url" doc:"URLs of the servers behind the proxy, which get the same request when the proxy does not answer; default: the proxy must answer in any case"`
	Unit     string         `yaml:"unit" rule:"unit" doc:"unit of the proxy, whose log a failure shows; without such a unit there is nothing to wait for. Default none"`
	Manifest string         `yaml:"manifest" rule:"path" doc:"manifest of the proxy's static pod; without such a manifest there is nothing to wait for. Default none"`
	Source   string         `yaml:"source" rule:"url" doc:"URL of the server from which the proxy of the manifest learns its rules, as kube-proxy does from an API server. When this server and one of direct have answered the same request for 15 s, and the proxy has not, the first container of the pod is ended, once: the new one reads all rules at its start. Default: it is never ended"`
	Timeout  time.Duration  `yaml:"timeout" range:"0s.." doc:"maximum wait; default 30s"`
}

var _ engine.Module = (*Ready)(nil)

// Gate is the same wait.
func (r *Ready) Gate() any { return r }

const pollEvery = 200 * time.Millisecond

// silence is the time without any answer after which the proxy is not tested: the servers
// behind the proxy may be starting.
const silence = 10 * time.Second

// Check sends one request, which is enough for a working proxy.
func (r *Ready) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if gone, err := r.gone(ctx, sys); err != nil || gone {
		return engine.Change{}, err
	}
	if _, err := r.HTTP.Do(ctx, sys); err == nil {
		return engine.NoChange(engine.Output{"forwarded": true}), nil
	}
	return engine.Change{Needed: true, Wait: true}, nil
}

// gone reports whether the host has no proxy, as in a dry run before the first install, and
// after the revert of the install.
func (r *Ready) gone(ctx context.Context, sys engine.System) (bool, error) {
	if r.Manifest != "" {
		return !staticpod.Wanted(sys, r.Manifest), nil
	}
	if r.Unit == "" {
		return false, nil
	}
	now, err := unit.Running(ctx, sys, r.Unit)
	return now.Missing, err
}

// Apply waits. The output's `forwarded` is false when no server behind the proxy
// answers either; `why` has their errors. `restarted` is true when a container of the proxy was
// ended because it did not learn its rules.
func (r *Ready) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	began := time.Now()
	w := &watch{ready: r, sys: sys, heard: began}
	err := httpcheck.Poll(ctx, cmp.Or(r.Timeout, 30*time.Second), pollEvery, sys.Progress, w.try)
	took := time.Since(began)
	switch {
	case err == nil && w.excused:
		return engine.Output{"forwarded": false, "why": w.direct.Error(), "elapsed_seconds": took.Seconds()}, nil
	case err == nil:
		return engine.Output{"forwarded": true, "restarted": w.restarted, "elapsed_seconds": took.Seconds()}, nil
	}
	message := fmt.Sprintf("no request passes through %s after %s: %v", r.HTTP.URL, took.Round(time.Second), err)
	if len(r.Direct) > 0 && w.direct == nil {
		message += "; a server behind it answers when it is asked directly, so the proxy does not run or its configuration is wrong"
	}
	if w.restarted {
		message += "; its container was ended after " + patience.String() + ", and the new one does not forward either"
	}
	return nil, &engine.Failure{Message: message, Detail: r.log(ctx, sys)}
}

// ask sends the request to servers one after the other; nil when one of them gives the answer
// that the proxy should give.
func (r *Ready) ask(ctx context.Context, sys engine.System, urls []string) error {
	var said []string
	for _, url := range urls {
		request := r.HTTP
		request.URL = url
		_, err := request.Do(ctx, sys)
		if err == nil {
			return nil
		}
		said = append(said, err.Error())
	}
	return fmt.Errorf("no server behind the proxy answers: %s", strings.Join(said, "; "))
}

func (r *Ready) log(ctx context.Context, sys engine.System) string {
	if r.Manifest != "" {
		return staticpod.Log(sys, r.Manifest)
	}
	if r.Unit != "" {
		return unit.Journal(ctx, sys, r.Unit)
	}
	return ""
}
