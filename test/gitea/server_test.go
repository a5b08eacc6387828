//go:build lab

package gitea

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"deployer/test/harness"
	"deployer/test/lab/plan"
	"deployer/test/server"
)

const (
	owner  = "robot"
	runner = "deployer:host" // jobs run on the host of the runner
)

// forge is a Gitea server in a lab, with a repository and a runner.
type forge struct {
	*harness.Site
	url, token string
	programs   string // directory of the programs and of the server's files
	config     string
	client     *http.Client
}

// newForge starts a server and a runner, which end with the test, and makes a repository.
func newForge(s *harness.Site) *forge {
	t := s.T
	t.Helper()
	address := plan.Controller().String() + ":3000"
	f := &forge{Site: s, url: "http://" + address, programs: server.Make(t, "gitea-path"), config: filepath.Join(t.TempDir(), "app.ini"),
		client: &http.Client{Transport: &http.Transport{DialContext: s.Dial}}}
	if _, err := os.Stat(f.programs); err != nil {
		t.Fatalf("%v: run `make gitea` first", err)
	}
	t.Cleanup(f.client.CloseIdleConnections)
	host, port, _ := strings.Cut(address, ":")
	if err := os.WriteFile(f.config, fmt.Appendf(nil, appConfig, filepath.Dir(f.config), f.programs, host, port, f.url), 0o600); err != nil {
		t.Fatal(err)
	}
	f.gitea("migrate")
	out := f.gitea("admin", "user", "create", "--admin", "--username", owner, "--random-password", "--email", owner+"@example.org",
		"--must-change-password=false", "--access-token", "--access-token-name", "test", "--access-token-scopes", "all")
	_, f.token, _ = strings.Cut(out, "Access token was successfully created... ")
	if f.token, _, _ = strings.Cut(f.token, "\n"); f.token == "" {
		t.Fatalf("no token in the output of gitea:\n%s", out)
	}
	server.Start(t, "gitea", func(ctx context.Context) *exec.Cmd { return f.command(ctx, "gitea", "--config", f.config, "web") }, func(ctx context.Context) error {
		return f.call(ctx, "GET", "/api/healthz", nil, nil)
	})
	f.must("POST", "/api/v1/user/repos", map[string]any{"name": "clusters", "private": true, "default_branch": "main"}, nil)
	f.startRunner()
	return f
}

// appConfig is the format of the server's configuration. Its arguments are the
// directory of the server's data, that of its files, the host, the port and the URL.
// Gitea requires a setting to run as root, as the test does.
const appConfig = `I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
RUN_USER = root
WORK_PATH = %[1]s
[server]
STATIC_ROOT_PATH = %[2]s
HTTP_ADDR = %[3]s
HTTP_PORT = %[4]s
ROOT_URL = %[5]s/
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
[security]
INSTALL_LOCK = true
[actions]
ENABLED = true
[log]
MODE = console
LEVEL = Warn
`

// startRunner registers a runner for the repository and starts it. Its jobs have the
// deployer under test in their PATH.
func (f *forge) startRunner() {
	f.T.Helper()
	dir := f.T.TempDir()
	var registration struct{ Token string }
	f.must("POST", f.repository("/actions/runners/registration-token"), nil, &registration)
	env := append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+f.State, "PATH="+filepath.Dir(harness.Binary(f.T))+":"+os.Getenv("PATH"), "GITEA_RUNNER_CACHE_ENABLED=false")
	command := func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := f.command(ctx, "runner", args...)
		cmd.Dir, cmd.Env = dir, env
		return cmd
	}
	register := command(f.T.Context(), "register", "--no-interactive", "--instance", f.url, "--token", registration.Token, "--name", "lab", "--labels", runner)
	if out, err := register.CombinedOutput(); err != nil {
		f.T.Fatalf("registering the runner: %v\n%s", err, out)
	}
	server.Start(f.T, "runner", func(ctx context.Context) *exec.Cmd { return command(ctx, "daemon") }, func(ctx context.Context) error {
		var all struct{ Runners []struct{ Status string } }
		if err := f.call(ctx, "GET", f.repository("/actions/runners"), nil, &all); err != nil {
			return err
		}
		if len(all.Runners) != 1 || all.Runners[0].Status != "online" {
			return fmt.Errorf("runners: %v", all.Runners)
		}
		return nil
	})
}

// repository returns the path of a resource of the repository in the API.
func (f *forge) repository(path string) string {
	return "/api/v1/repos/" + owner + "/clusters" + path
}

// command returns a command that runs a program in the network of the lab.
func (f *forge) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	return f.Command(ctx, append([]string{filepath.Join(f.programs, program)}, args...)...)
}

// gitea runs a command of the server's program.
func (f *forge) gitea(args ...string) string {
	f.T.Helper()
	out, err := f.command(f.T.Context(), "gitea", append([]string{"--config", f.config}, args...)...).CombinedOutput()
	if err != nil {
		f.T.Fatalf("gitea %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// call calls the server's API, with a JSON body unless in is nil. It decodes the answer
// into out, a text as it is.
func (f *forge) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, f.url+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "token "+f.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := f.client.Do(request)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, data)
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *string:
		*out = string(data)
		return nil
	default:
		return json.Unmarshal(data, out)
	}
}

// must runs call and ends the test on an error.
func (f *forge) must(method, path string, in, out any) {
	f.T.Helper()
	if err := f.call(f.T.Context(), method, path, in, out); err != nil {
		f.T.Fatal(err)
	}
}
