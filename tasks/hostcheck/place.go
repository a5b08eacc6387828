package hostcheck

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"deployer/engine"
	"deployer/tasks/checkresult"
	"deployer/tasks/receipt"
)

// basics returns the rows of requirements of every host, whatever its roles.
func basics(sys engine.System) []checkresult.Row {
	boot := checkresult.OK("systemd")
	if _, err := os.Stat(sys.Path("/run/systemd/system")); err != nil { // sd_booted(3)
		boot = checkresult.Problem("use a host that runs systemd", "this host is not run by systemd")
	}
	return []checkresult.Row{boot.Named("init"), hostname(sys).Named("hostname")}
}

// hostname requires a name other than the default, because it distinguishes components and
// journals of hosts. The controller checks whether two hosts share a name.
func hostname(sys engine.System) checkresult.Row {
	data, err := os.ReadFile(sys.Path("/proc/sys/kernel/hostname"))
	name := strings.TrimSpace(string(data))
	switch {
	case err != nil:
		return checkresult.Problem("look at /proc/sys/kernel/hostname", "the host's name cannot be read: %v", err)
	case name == "" || name == "localhost" || strings.HasPrefix(name, "localhost."):
		return checkresult.Problem("give the host a name with hostnamectl", "the host has no name of its own but %q", name)
	}
	return checkresult.OK("%s", name)
}

func (r Requirement) program(sys engine.System) checkresult.Row {
	if path := where(sys, r.Name); path != "" {
		return checkresult.OK("%s", path)
	}
	return checkresult.Problem("install the package that has it", "%s is not installed", r.Name)
}

// where finds a program in the usual directories. where ignores the agent's search path, which
// sudo may have shortened.
func where(sys engine.System, name string) string {
	for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(sys.Path(path)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// foreign checks for files of another installation.
func (r Requirement) foreign(sys engine.System) checkresult.Row {
	entries, err := os.ReadDir(sys.Path(r.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkresult.OK("nothing there")
	case err == nil && len(entries) == 0:
		return checkresult.OK("empty")
	case receipt.Claimed(sys):
		return checkresult.OK("installed by deployer")
	}
	return checkresult.Problem("use a fresh host, or remove the other installation and "+r.Path, "%s exists and deployer did not put it there", r.Path)
}
