package plan

import "fmt"

// DNS returns the command line of the lab's name server. The server answers for the hosts
// under Domain. Any other name does not exist: the lab has no route out, and an immediate
// answer avoids timeouts.
func DNS(hosts []Host) []string {
	argv := []string{
		"dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--user=root",
		"--no-resolv", "--no-hosts", "--bind-interfaces", "--listen-address=" + Controller().String(),
		"--listen-address=" + ControllerIPv6().String(),
		"--address=/#/",
	}
	for _, h := range hosts {
		argv = append(argv, fmt.Sprintf("--host-record=%s.%s,%s", h.Name, Domain, h.Address))
	}
	return argv
}
