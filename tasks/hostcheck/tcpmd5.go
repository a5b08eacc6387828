package hostcheck

import (
	"golang.org/x/sys/unix"

	"deployer/tasks/checkresult"
)

// tcpMD5 tests whether the kernel signs TCP segments (RFC 2385), on a socket that
// is never connected.
func tcpMD5() checkresult.Row {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return checkresult.Problem("look at the host's limits of open files", "not tried: %v", err)
	}
	defer func() { _ = unix.Close(fd) }()
	sig := &unix.TCPMD5Sig{Addr: unix.SockaddrStorage{Family: unix.AF_INET}, Keylen: 1}
	sig.Key[0] = 'x'
	if err := unix.SetsockoptTCPMD5Sig(fd, unix.IPPROTO_TCP, unix.TCP_MD5SIG, sig); err != nil {
		return checkresult.Problem("boot a kernel with CONFIG_TCP_MD5SIG", "the kernel does not sign TCP segments: %v", err)
	}
	return checkresult.OK("usable")
}
