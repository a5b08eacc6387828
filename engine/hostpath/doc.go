// Package hostpath opens the files of a host without being led astray by links
// that other users put in the way.
//
// A program that works as root must not write through a link that an
// unprivileged user controls: /home/bob/conf may lead to /etc/systemd/system.
// [Open], [OpenDir] and [MakeDir] walk a path from the root directory, one
// component at a time, each below the descriptor of the one before it, and never
// let the kernel follow a link by itself. A link on the way is followed when
//
//   - it belongs to root or to the agent's own user, and stands in a directory
//     where nobody else can put another link in its place: /bin, /var/run; or
//   - it leads its owner to what that same user owns, who could as well have
//     made a directory there.
//
// Any other link is an [UntrustedLinkError]. Directories may belong to anybody: root
// writes to the home directories of users.
//
// Callers work with the descriptors that they get, a [Node] or a [Dir]. A path
// that somebody exchanges after it was opened changes nothing for them.
package hostpath
