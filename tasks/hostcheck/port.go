package hostcheck

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"deployer/engine"
	"deployer/tasks/checkresult"
)

// maxComm is the length to which the kernel cuts the name of a process.
const maxComm = 15

// sockets are the host's listening sockets with their processes, read once for all ports,
// because reading every open file of every process takes long.
type sockets struct {
	sys     engine.System
	holders map[string][]string // by inode, as "name (pid n)"; nil until needed
}

func (s *sockets) of(inodes map[string]bool) []string {
	if s.holders == nil {
		s.holders = allHolders(s.sys)
	}
	var out []string
	for inode := range inodes {
		out = append(out, s.holders[inode]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (r Requirement) port(s *sockets) checkresult.Row {
	inodes := listeners(s.sys, cmp.Or(r.Protocol, "tcp"), r.Port)
	if len(inodes) == 0 {
		return checkresult.OK("free")
	}
	holders := s.of(inodes)
	if len(holders) == 0 {
		// On a host that boots, the socket may be newer than the list of the processes.
		s.holders = nil
		if inodes = listeners(s.sys, cmp.Or(r.Protocol, "tcp"), r.Port); len(inodes) == 0 {
			return checkresult.OK("free")
		}
		holders = s.of(inodes)
	}
	if _, err := os.Stat(s.sys.Path(r.Path)); r.Path != "" && err == nil {
		r.Owners = slices.Concat(r.Owners, r.Former)
	}
	strangers := slices.DeleteFunc(slices.Clone(holders), r.owned)
	switch {
	case len(holders) == 0:
		return checkresult.Problem("stop what listens there", "taken by a process that cannot be seen from this host")
	case len(strangers) == 0:
		return checkresult.OK("held by %s", strings.Join(holders, ", "))
	}
	return checkresult.Problem("stop it, or give it another port", "taken by %s", strings.Join(strangers, ", "))
}

// owned compares names in the form of the kernel, which cuts them.
func (r Requirement) owned(holder string) bool {
	name, _, _ := strings.Cut(holder, " ")
	return slices.ContainsFunc(r.Owners, func(owner string) bool {
		return owner[:min(len(owner), maxComm)] == name
	})
}

// listeners returns the inodes of sockets that listen on a port.
func listeners(sys engine.System, protocol string, port int) map[string]bool {
	out := map[string]bool{}
	for _, table := range []string{protocol, protocol + "6"} {
		f, err := os.Open(sys.Path("/proc/net/" + table))
		if err != nil {
			continue // no IPv6
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if inode, listens := parseSocket(lines.Text(), protocol, port); listens {
				out[inode] = true
			}
		}
		_ = f.Close()
	}
	return out
}

// parseSocket reads a line of /proc/net/tcp, tcp6, udp or udp6: "sl local_address
// rem_address st ... uid timeout inode", addresses as hex:hex (proc(5)). State
// 0A listens; a UDP socket that is not connected has state 07.
func parseSocket(line, protocol string, port int) (inode string, listens bool) {
	fields := strings.Fields(line)
	if len(fields) < 10 {
		return "", false
	}
	_, hexPort, found := strings.Cut(fields[1], ":")
	n, err := strconv.ParseUint(hexPort, 16, 16)
	if !found || err != nil || int(n) != port {
		return "", false
	}
	state := "0A"
	if protocol == "udp" {
		state = "07"
	}
	return fields[9], fields[3] == state
}

// allHolders names the processes that have each socket open.
func allHolders(sys engine.System) map[string][]string {
	out := map[string][]string{}
	processes, err := filepath.Glob(sys.Path("/proc") + "/[0-9]*")
	if err != nil {
		return out
	}
	for _, dir := range processes {
		files, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			continue // ended since
		}
		comm, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil {
			continue
		}
		name := strings.TrimSpace(string(comm)) + " (pid " + filepath.Base(dir) + ")"
		for _, f := range files {
			target, err := os.Readlink(filepath.Join(dir, "fd", f.Name()))
			if inode, isSocket := strings.CutPrefix(target, "socket:["); err == nil && isSocket {
				inode = strings.TrimSuffix(inode, "]")
				out[inode] = append(out[inode], name)
			}
		}
	}
	return out
}
