// Package account has the modules for the host's users and groups.
package account

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"strings"

	"deployer/argrule"
	"deployer/engine"
)

// validName reports whether useradd(8) accepts a name on every distribution.
func validName(name string) bool { return name != "" && argrule.Check("account", name) == nil }

// entry returns the fields of a name in a file such as /etc/passwd; nil without one.
// Users of LDAP and other services are not in the file and are never changed.
func entry(sys engine.System, database, name string) ([]string, error) {
	f, err := os.Open(sys.Path(database))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Split(lines.Text(), ":"); fields[0] == name {
			return fields, nil
		}
	}
	return nil, lines.Err()
}

// groupsOf lists the supplementary groups of a user.
func groupsOf(sys engine.System, user string) ([]string, error) {
	data, err := os.ReadFile(sys.Path("/etc/group"))
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) < 4 {
			continue
		}
		for _, member := range strings.Split(fields[3], ",") {
			if member == user {
				out = append(out, fields[0])
			}
		}
	}
	return out, nil
}
