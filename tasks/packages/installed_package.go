package packages

import (
	"context"
	"strings"

	"deployer/engine"
)

// Installed lists all packages of the host with their versions. A package that is
// installed in several versions, such as a kernel, has all of them, separated by blanks.
func Installed(ctx context.Context, sys engine.System) (map[string]string, error) {
	m, err := detect(sys, options{})
	if err != nil {
		return nil, err
	}
	argv := []string{"rpm", "--query", "--all", "--queryformat", "%{NAME} installed %{VERSION}-%{RELEASE}\n"}
	if m.name() == "apt-get" {
		argv = []string{"dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status} ${Version}\n"}
	}
	res, err := ask(ctx, sys, 0, argv...)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for row := range strings.Lines(res.Stdout) {
		if f := strings.Fields(row); len(f) == 3 && f[1] == "installed" {
			out[f[0]] = strings.TrimSpace(out[f[0]] + " " + f[2])
		}
	}
	return out, nil
}
