package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"deployer/cluster"
	"deployer/test/bench/kube"
)

// apiProxy is one API proxy with the configuration that deployer renders, which all nodes of the
// benchmark use: together they cost it what 1000 proxies of their own would cost, but for the checks.
type apiProxy struct {
	process *kube.Process
	address string // address:port of clients
}

// startProxy starts the API proxy of a host from the files of its image, which are in rootfs. With
// checks HAProxy checks each API server as often as that number of proxies would. Its log is in dir.
func startProxy(ctx context.Context, dir, rootfs string, c *cluster.Cluster, host string, checks int) (*apiProxy, error) {
	text, err := proxyConfig(c, host)
	if err != nil {
		return nil, err
	}
	if checks > 1 {
		if text, err = moreChecks(text, c, checks); err != nil {
			return nil, err
		}
	}
	file := "/etc/deployer/" + host + ".conf"
	path := filepath.Join(rootfs, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return nil, err
	}
	// The commands are those of templates/local-proxy/api-proxy.spec.tmpl.
	args := []string{"/usr/sbin/haproxy", "-W", "-db", "-f", file}
	if c.Proxy.Kind == "nginx" {
		args = []string{"/usr/sbin/nginx", "-c", file, "-g", "daemon off; pid /tmp/" + host + ".pid;"}
	}
	cmd := &exec.Cmd{Path: args[0], Args: args, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Chroot: rootfs}}
	p := &apiProxy{address: c.Nodes[host].ProxyListen[0]}
	if p.process, err = kube.StartCommand(cmd, dir, host+"-"+c.Proxy.Kind); err != nil {
		return nil, err
	}
	err = p.process.Await(ctx, startTime, func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	if err != nil {
		p.process.Stop()
		return nil, err
	}
	return p, nil
}

// moreChecks returns the configuration of HAProxy with checks as frequent as those of n proxies.
func moreChecks(text string, c *cluster.Cluster, n int) (string, error) {
	interval := " inter " + c.Proxy.CheckInterval + " "
	if !strings.Contains(text, interval) {
		return "", fmt.Errorf("the configuration of HAProxy has no %q", interval)
	}
	ms := int(c.Size.ProxyCheckInterval.Milliseconds()) / n
	return strings.ReplaceAll(text, interval, " inter "+strconv.Itoa(max(ms, 1))+"ms "), nil
}
