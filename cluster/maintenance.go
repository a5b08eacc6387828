package cluster

import (
	"net/url"
	"strings"
	"time"
)

// MaintenanceSpec is the `cluster.maintenance:` section.
type MaintenanceSpec struct {
	Hooks []HookSpec `yaml:"hooks" doc:"Programs that run on the controller, and HTTP requests that it sends, around work on a node, in this order. Texts may contain {{ }}, such as {{ host.name }}."`
}

// HookSpec is one of `cluster.maintenance.hooks`: a command or an HTTP request.
type HookSpec struct {
	Name    string            `yaml:"name" required:"true" doc:"Name in reports; unique."`
	Phase   string            `yaml:"phase" enum:"before,after,removed" default:"before" doc:"before: when the node takes no new pods any more, before its pods leave. after: before the node takes pods again, also after a failure. removed: at the end of scale-down, for each host that has left the cluster, also for dead ones, such as to switch the machine off or to give it back; a command that is repeated runs it again."`
	Always  bool              `yaml:"always" default:"false" doc:"Whether the hook also runs for work that leaves pods on the node."`
	Command []string          `yaml:"command" doc:"Program with arguments; exit code 0 is success. It has the environment of deployer, with DEPLOYER_HOST, DEPLOYER_ADDRESS, DEPLOYER_CLUSTER, DEPLOYER_PHASE and DEPLOYER_RUN."`
	Env     map[string]string `yaml:"env" doc:"Further variables of the program's environment."`
	HTTP    *HookRequestSpec  `yaml:"http" doc:"HTTP request."`
	Timeout time.Duration     `yaml:"timeout" default:"5m" doc:"Maximum duration, such as 90s; after it the hook has failed."`
}

// HookRequestSpec is `http` of a hook.
type HookRequestSpec struct {
	URL           string                      `yaml:"url" required:"true" doc:"http or https URL; redirects are not followed."`
	Method        string                      `yaml:"method" default:"POST" doc:"HTTP method."`
	Headers       map[string]string           `yaml:"headers" doc:"Headers."`
	SecretHeaders map[string]SecretHeaderSpec `yaml:"secret_headers" doc:"Headers whose values are read on the controller when the request is sent, and are in no output."`
	Body          string                      `yaml:"body" doc:"Body."`
	Status        []int                       `yaml:"status" doc:"Expected status codes; default any from 200 to 299."`
	CA            string                      `yaml:"ca" doc:"File of the controller with the CA certificates to trust; default the CA certificates of the controller."`
}

// SecretHeaderSpec is the source of the value of a header; it has file or env.
type SecretHeaderSpec struct {
	File string `yaml:"file" doc:"File of the controller with the value; white space around it is removed."`
	Env  string `yaml:"env" doc:"Variable of deployer's environment with the value."`
}

// The phases of a hook.
const (
	HookBefore  = "before"
	HookAfter   = "after"
	HookRemoved = "removed"
)

// defaultHookTimeout is the time in which load balancers drain their connections and
// databases move their leaders.
const defaultHookTimeout = 5 * time.Minute

// withDefaults returns hooks with phase, method and timeout.
func (m MaintenanceSpec) withDefaults() MaintenanceSpec {
	out := MaintenanceSpec{Hooks: make([]HookSpec, len(m.Hooks))}
	for i, h := range m.Hooks {
		if h.Phase == "" {
			h.Phase = HookBefore
		}
		if h.Timeout == 0 {
			h.Timeout = defaultHookTimeout
		}
		out.Hooks[i] = h
	}
	return out
}

// checkHooks refuses hooks that cannot run.
func (c *checker) checkHooks() {
	names := map[string]bool{}
	for _, h := range c.spec.Maintenance.Hooks {
		bad := func(format string, args ...any) {
			c.add("bad-hook", "cluster.maintenance.hooks", "hook %q: "+format, append([]any{h.Name}, args...)...)
		}
		if names[h.Name] || strings.TrimSpace(h.Name) == "" {
			bad("a hook needs a name of its own")
		}
		names[h.Name] = true
		if h.Timeout < 0 {
			bad("timeout %s: want a duration such as 5m", h.Timeout)
		}
		switch {
		case len(h.Command) == 0 && h.HTTP == nil:
			bad("want command or http")
		case len(h.Command) > 0 && h.HTTP != nil:
			bad("command and http are two hooks: write two")
		case h.HTTP == nil:
		default:
			if len(h.Env) > 0 {
				bad("env is for command")
			}
			c.checkHookRequest(*h.HTTP, bad)
		}
	}
}

func (c *checker) checkHookRequest(r HookRequestSpec, bad func(string, ...any)) {
	if u, err := url.Parse(r.URL); !strings.Contains(r.URL, "{{") && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		bad("%q is no http or https URL", r.URL)
	}
	for _, name := range sortedKeys(r.SecretHeaders) {
		if source := r.SecretHeaders[name]; (source.File == "") == (source.Env == "") {
			bad("secret_headers: %s: want file or env", name)
		}
		if _, twice := r.Headers[name]; twice {
			bad("the header %s is in headers and secret_headers: leave one out", name)
		}
	}
	for _, code := range r.Status {
		if code < 100 || code > 599 {
			bad("%d is no status code of HTTP", code)
		}
	}
}

// Value returns the hook in the types of JSON, every key present, as the variable
// maintenance_hooks has it.
func (h HookSpec) Value() map[string]any {
	out := map[string]any{"name": h.Name, "phase": h.Phase, "always": h.Always, "timeout": h.Timeout.String(),
		"command": texts(h.Command), "env": textMap(h.Env), "http": nil}
	if h.HTTP == nil {
		return out
	}
	secrets := map[string]any{}
	for name, source := range h.HTTP.SecretHeaders {
		secrets[name] = map[string]any{"file": source.File, "env": source.Env}
	}
	status := make([]any, len(h.HTTP.Status))
	for i, code := range h.HTTP.Status {
		status[i] = code
	}
	out["http"] = map[string]any{"url": h.HTTP.URL, "method": h.HTTP.Method, "headers": textMap(h.HTTP.Headers), "secret_headers": secrets,
		"body": h.HTTP.Body, "status": status, "ca": h.HTTP.CA}
	return out
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

func textMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for key, text := range m {
		out[key] = text
	}
	return out
}
