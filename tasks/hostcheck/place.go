package hostcheck

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"deployer/engine"
	"deployer/tasks/receipt"
	"deployer/tasks/row"
)

// basics are what every host needs, whatever its roles.
func basics(sys engine.System) []row.Row {
	boot := row.OK("systemd")
	if _, err := os.Stat(sys.Path("/run/systemd/system")); err != nil { // sd_booted(3)
		boot = row.Bad("use a host that runs systemd", "this host is not run by systemd")
	}
	return []row.Row{boot.Named("init"), hostname(sys).Named("hostname")}
}

// hostname wants a name of its own: components and journals are told apart by
// it. Whether two hosts share one is the controller's to see.
func hostname(sys engine.System) row.Row {
	data, err := os.ReadFile(sys.Path("/proc/sys/kernel/hostname"))
	name := strings.TrimSpace(string(data))
	switch {
	case err != nil:
		return row.Bad("look at /proc/sys/kernel/hostname", "the host's name cannot be read: %v", err)
	case name == "" || name == "localhost" || strings.HasPrefix(name, "localhost."):
		return row.Bad("give the host a name with hostnamectl", "the host has no name of its own but %q", name)
	}
	return row.OK("%s", name)
}

func (r Requirement) program(sys engine.System) row.Row {
	if path := where(sys, r.Name); path != "" {
		return row.OK("%s", path)
	}
	return row.Bad("install the package that has it", "%s is not installed", r.Name)
}

// where finds a program in the usual directories. The agent's own search path
// is not asked: sudo may have cut it.
func where(sys engine.System, name string) string {
	for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(sys.Path(path)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// foreign finds what another installation left.
func (r Requirement) foreign(sys engine.System) row.Row {
	entries, err := os.ReadDir(sys.Path(r.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return row.OK("nothing there")
	case err == nil && len(entries) == 0:
		return row.OK("empty")
	case receipt.Claimed(sys):
		return row.OK("installed by deployer")
	}
	return row.Bad("use a fresh host, or remove the other installation and "+r.Path, "%s exists and deployer did not put it there", r.Path)
}
