// Package debug makes the container that deployer debug runs on hosts: a container of
// the image debug, with the host's network and processes and its file system at
// /host, beside Kubernetes and by containerd alone, so that debug works when no API
// server answers.
//
// A [Session] has the name of the container and the image. Its playbook, which package runs
// compiles and executes like any other, removes what killed sessions have left, and sends the
// image to hosts that lack it. Then its command line, which package runs starts as root over
// SSH, imports the image, runs the container, and removes both when the container or the
// connection ends. The package does no I/O itself, except that it reads image archives.
package debug
