package packages

import (
	"context"
	"strings"

	"deployer/engine"
)

// rpmFormat prints a line for each package in an output.
const rpmFormat = "%{NAME} %{ARCH} %{EPOCHNUM} %{VERSION} %{RELEASE}\n"

// rpmInstalled queries all names at once, and then, for each name that is not a package,
// the installed package that provides it: the output of rpm does not tell which query it
// belongs to.
func rpmInstalled(ctx context.Context, sys engine.System, names []string) (versions, error) {
	have := versions{}
	if len(names) == 0 {
		return have, nil
	}
	res, err := ask(ctx, sys, len(names), append([]string{"rpm", "--query", "--queryformat", rpmFormat, "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	for name, s := range readRPM(res.Stdout) {
		have[name] = s
	}
	for _, name := range names {
		if have.has(name) {
			continue
		}
		res, err := ask(ctx, sys, 1, "rpm", "--query", "--whatprovides", "--queryformat", rpmFormat, "--", name)
		if err != nil {
			return nil, err
		}
		for _, s := range readRPM(res.Stdout) {
			have[name] = s
		}
	}
	return have, nil
}

// readRPM parses the lines of rpmFormat; other lines are messages about missing
// packages.
func readRPM(answer string) versions {
	out := versions{}
	for line := range strings.Lines(answer) {
		f := strings.Fields(line)
		if len(f) != 5 || strings.HasPrefix(line, "package ") || strings.HasPrefix(line, "no package ") {
			continue
		}
		version, full := f[3], f[3]+"-"+f[4]
		for _, name := range []string{f[0], f[0] + "." + f[1]} {
			s := out[name]
			s.spellings = append(s.spellings, full, version, f[2]+":"+full, f[2]+":"+version)
			out[name] = s
		}
	}
	return out
}

func rpmContents(ctx context.Context, sys engine.System, file string) (name, version string, err error) {
	res, err := ask(ctx, sys, 0, "rpm", "--query", "--package", "--queryformat", "%{NAME} %{VERSION}-%{RELEASE}", file)
	if err != nil {
		return "", "", err
	}
	return nameAndVersion(res.Stdout)
}
