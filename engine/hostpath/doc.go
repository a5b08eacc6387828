// Package hostpath opens files of a host without following links that another user
// controls.
//
// A program that runs as root must not write through a link of an unprivileged user:
// /home/bob/conf may lead to /etc/systemd/system. [Open], [OpenDir] and [MakeDir]
// walk a path from the root directory, one component at a time, each below the
// descriptor of the one before, and never let the kernel follow a link. A link on
// the way is followed when
//
//   - it belongs to root or to the agent's own user, and its directory lets nobody else
//     replace it: /bin, /var/run; or
//   - it leads its owner to a file or directory of that same user, who could as well have
//     created a directory in its place.
//
// Any other link is an [UntrustedLinkError]. Directories may belong to anybody: root
// writes to the home directories of users.
//
// Callers work with descriptors, a [Node] or a [Dir]: a path that is exchanged after
// it was opened has no effect.
package hostpath
