package packages

import (
	"context"
	"strings"

	"deployer/engine"
)

// installed queries dpkg by name and, for unknown names, by the packages that provide
// them.
func (apt) installed(ctx context.Context, sys engine.System, names []string) (versions, error) {
	have := versions{}
	if len(names) == 0 {
		return have, nil
	}
	const format = "--showformat=${Package} ${Architecture} ${db:Status-Status} ${Version}\n"
	res, err := ask(ctx, sys, 1, append([]string{"dpkg-query", "--show", format, "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	readDpkg(have, res.Stdout)
	for _, name := range names {
		if have.has(name) {
			continue
		}
		res, err := ask(ctx, sys, 0, "dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version} ${Provides}\n")
		if err != nil {
			return nil, err
		}
		readProvides(have, res.Stdout)
		break
	}
	return have, nil
}

func readDpkg(have versions, answer string) {
	for line := range strings.Lines(answer) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		for _, name := range []string{f[0], f[0] + ":" + f[1]} {
			s := have[name]
			switch f[2] {
			case "installed", "triggers-pending", "triggers-awaited":
				s.spellings = append(s.spellings, f[3:]...)
			case "config-files":
				s.leftovers = true
			}
			have[name] = s
		}
	}
}

// readProvides parses lines such as "installed 1.2 awk, editor (= 2)".
func readProvides(have versions, answer string) {
	for line := range strings.Lines(answer) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(f) < 3 || f[0] != "installed" {
			continue
		}
		for _, provided := range strings.Split(f[2], ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(provided), " ")
			if name != "" && !have.has(name) {
				have[name] = state{spellings: []string{f[1]}, virtual: true}
			}
		}
	}
}
