package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/facts"
	"deployer/engine/remote/fakehost"
	"deployer/engine/session"
	"deployer/engine/transport/sshtest"
	"deployer/inventory"
	"deployer/tasks"
	"deployer/test/fleet"
)

// roleVariable is the environment variable that makes this program an agent or a
// controller.
const roleVariable = "FAULTS_ROLE"

// role is the role of a process of this program.
type role struct {
	// Root, Host and Line are for an agent: the root directory and the name of its
	// host, and the command line to answer.
	Root, Host, Line string
	ClockOff         time.Duration // by which the host's clock is fast
	DiskBytes        int           // size of the host's disk; 0 for the disk of this machine
	ReportSteps      bool          // each result travels in a frame of its own; see fleet.ReportSteps
	// The other fields are for a controller: its inventory, run, the path of the
	// playbook, and the number of steps after which it kills itself; 0 for never.
	Inventory, Run, Playbook string
	DieAfter                 int
}

// play is the main function of a process with a role. It does not return.
func play(text string) {
	var r role
	err := json.Unmarshal([]byte(text), &r)
	if err == nil && r.Line != "" {
		err = r.agent()
	} else if err == nil {
		err = r.controller()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (r role) agent() error {
	if r.DiskBytes > 0 {
		if err := smallDisk(r.Root, r.DiskBytes); err != nil {
			return err
		}
	}
	opts := agent.ServeOptions{Root: r.Root, Facts: func() engine.Facts {
		found := facts.Read(r.Root)
		found.Hostname = r.Host
		found.UnixTime += r.ClockOff.Seconds()
		return found
	}}
	registry := engine.NewRegistry(tasks.Modules())
	if r.ReportSteps {
		registry = fleet.ReportSteps(registry)
	}
	return fakehost.Answer(r.Line, os.Stdout, func() error {
		return agent.Serve(context.Background(), os.Stdin, os.Stdout, registry, opts)
	})
}

func (r role) controller() error {
	inv, err := inventory.Load(r.Inventory, inventory.Options{})
	if err != nil {
		return err
	}
	c, err := controller(inv, r.Playbook)
	if err != nil {
		return err
	}
	c.Sink = &countdown{left: int64(r.DieAfter)}
	report, err := c.Run(context.Background(), r.Run)
	if err != nil {
		return err
	}
	if report.Outcome() != engine.OutcomeDone {
		return fmt.Errorf("%s: %s %+v", report.Outcome(), report.Aborted, report.Broken())
	}
	return nil
}

// controller returns a controller that retries connections before it gives a host up,
// as a real one does.
func controller(inv *inventory.Inventory, playbook string) (fleet.Controller, error) {
	blobs, err := fleet.NewBlobs()
	return fleet.Controller{
		Inventory: inv, Playbook: os.DirFS(playbook), Main: "thirty.yaml", Blobs: blobs, LockTimeout: 20 * time.Second,
		// On a busy machine one attempt can take longer than the 15 s within which others begin by default.
		Retry: session.Retry{Initial: 10 * time.Millisecond, Max: 50 * time.Millisecond, Attempts: 20, Waited: time.Minute, Reattempts: 50},
	}, err
}

// countdown kills the process at the end of the left-th step.
type countdown struct{ left int64 }

// Emit implements engine.Sink.
func (c *countdown) Emit(e engine.Event) {
	if e.Type == engine.EventStepEnd && atomic.AddInt64(&c.left, -1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it arrives
	}
}

// process starts this program in a role.
func (r role) process() (*exec.Cmd, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// smallDisk mounts a file system of size bytes on a directory, for this process only.
func smallDisk(dir string, size int) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	return syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size))
}

// agentProcess answers a command with an agent in a separate process, which it passes
// to started. Like sshd, it does not kill the process when the client is gone; the
// process has to notice that.
func agentProcess(r role, c sshtest.Command, started func(*os.Process)) int {
	cmd, err := r.process()
	if err != nil {
		return 1
	}
	if r.DiskBytes > 0 { // a mount namespace of its own, for any user
		self := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		group := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: self, GidMappings: group}
	}
	cmd.Stdout = c.Stdout
	in, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	if err := cmd.Start(); err != nil {
		return 1
	}
	started(cmd.Process)
	go func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := c.Stdin.Read(buf)
			if n > 0 {
				if _, err := in.Write(buf[:n]); err != nil {
					break
				}
			}
			if err != nil {
				break
			}
		}
		_ = in.Close()
	}()
	_ = cmd.Wait()
	return max(cmd.ProcessState.ExitCode(), 0)
}
