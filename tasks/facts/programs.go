package facts

import (
	"context"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/packages"
)

func installed(ctx context.Context, sys engine.System) (any, error) {
	return packages.Installed(ctx, sys)
}

// Service is a systemd unit of type service.
type Service struct {
	Active  string `json:"active"`  // active, inactive, failed, activating; inactive for one that is not loaded
	Sub     string `json:"sub"`     // running, exited, dead, ...
	Enabled string `json:"enabled"` // enabled, disabled, static, masked, ...; empty without a file
}

// services queries systemd for units and unit files.
func services(ctx context.Context, sys engine.System) (any, error) {
	ask := func(verb string, more ...string) (string, error) {
		argv := append([]string{"systemctl", verb, "--type=service", "--no-legend", "--no-pager", "--full"}, more...)
		return hostcmd.RunCommand(ctx, sys, engine.Command{Argv: argv, Env: []string{"LC_ALL=C"}, MaxOutput: 8 << 20})
	}
	units, err := ask("list-units", "--all", "--plain")
	if err != nil {
		return nil, err
	}
	files, err := ask("list-unit-files")
	return parseServices(units, files), err
}

// parseServices parses rows of units, "NAME LOAD ACTIVE SUB DESCRIPTION", and of files,
// "NAME STATE PRESET". A unit that other units only refer to has no file and is left
// out.
func parseServices(units, files string) map[string]Service {
	out := map[string]Service{}
	for line := range strings.Lines(units) {
		if f := strings.Fields(line); len(f) >= 4 && f[1] != "not-found" {
			out[f[0]] = Service{Active: f[2], Sub: f[3]}
		}
	}
	for line := range strings.Lines(files) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		s, loaded := out[f[0]]
		if !loaded {
			s = Service{Active: "inactive", Sub: "dead"}
		}
		s.Enabled = f[1]
		out[f[0]] = s
	}
	return out
}
