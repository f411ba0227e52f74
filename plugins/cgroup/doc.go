// Package cgroup is a tracker that makes every session a cgroup of its own in
// the cgroup v2 hierarchy of Linux (cgroups(7)).
//
// The host's child is cloned straight into the cgroup (clone3(2),
// CLONE_INTO_CGROUP, Linux 5.7), so there is no moment at which it is outside.
// Everything that it starts is born in the same cgroup, whatever it does to its
// session, its process group or its parent. The kernel lists the members, kills
// them all at once (cgroup.kill, Linux 5.14; before, the tracker freezes the
// cgroup and kills them one by one), and says when none is left.
//
// # What holds and what does not
//
// A process leaves a cgroup only by being moved, which takes a write to a file
// of the cgroup filesystem, or by having a process outside start another. So
// none leaves while the constraints that [Tracker.Open] returns hold: nobody in
// the session writes below the cgroup filesystem, and nobody reaches the
// services that start programs for others. Without a confiner to hold them, a
// process of the same user can leave a cgroup that this user owns. The
// sockets are a table of known services, not a proof that there are no others.
//
// A process of the session is of the tracker's own user, and nothing keeps it
// from changing the modes of the cgroup's files, which Landlock does not restrict,
// or, as root, from giving the cgroup to another user. The tracker takes the
// rights back, and goes by the name, which cannot be changed.
//
// A process in an uninterruptible wait of the kernel (state D) ends when that
// wait does. Until then it is a survivor, and reported as one.
//
// # Names
//
// The name of the cgroup carries the owner, the session and whether the session
// outlives its owner; nothing is stored elsewhere. A cgroup whose name is not
// exactly of this form, or that belongs to another user, is never touched. The
// name also carries the namespaces in which the owner's pid and start time were
// read: from any other, the tracker cannot tell whether the owner lives and
// takes it for living.
//
// # Where sessions are made
//
// On the first of these rungs that will hold, which is found out by trying, and
// told by the finding on clean-up:
//
//  1. Directly below the cgroup that the owner runs in, so that they stay within
//     the limits and the reach of whatever service manager or session that belongs
//     to; or else below the nearest ancestor that allows it. A session with limits
//     goes below the nearest that has the controllers for it. This is for root,
//     for delegated cgroups, and for services of a user's manager.
//  2. In a scope that the user's systemd is asked for, by D-Bus, and that the owner
//     is moved to. This is for a normal user's login session, where cgroups can
//     perhaps be made but no process can be started in them. The owner has to
//     permit it ([core.OpenRequest].MoveOwner); the tracker stays where it is.
//     The scope is named after the owner, and systemd removes it when it is empty.
//
// An owner that itself runs inside a session never leaves that session.
package cgroup
