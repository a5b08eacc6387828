package plan

import "fmt"

// DNS is the command line of the lab's name server. It answers for the hosts
// under Domain and says of every other name that it does not exist: the lab has
// no way out, and an answer at once is better than a time-out.
func DNS(hosts []Host) []string {
	argv := []string{
		"dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--user=root",
		"--no-resolv", "--no-hosts", "--bind-interfaces", "--listen-address=" + Controller().String(),
		"--address=/#/",
	}
	for _, h := range hosts {
		argv = append(argv, fmt.Sprintf("--host-record=%s.%s,%s", h.Name, Domain, h.Address))
	}
	return argv
}
