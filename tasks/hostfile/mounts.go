package hostfile

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"deployer/engine"
)

// escaped are the characters of a path that mountinfo writes in octal.
var escaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// Mounts returns the mount points at the host's path and below it, from
// proc_pid_mountinfo(5); none when that file does not exist.
func Mounts(sys engine.System, path string) ([]string, error) {
	data, err := os.ReadFile(sys.Path("/proc/self/mountinfo"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := escaped.Replace(fields[4])
		if point == path || strings.HasPrefix(point, strings.TrimSuffix(path, "/")+"/") {
			out = append(out, point)
		}
	}
	return out, nil
}
