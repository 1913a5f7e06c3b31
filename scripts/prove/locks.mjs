// Each lock of the engine, and the test that fails without it.

const NOTHING = 'FileLock::acquire(&path, LockKind::Shared,';

/** @type {import('./mutations.mjs').Mutation[]} */
export const locks = [
  {
    what: "a workspace's lock is held alone",
    file: 'checkpoint/manager.rs',
    take: 'FileLock::acquire(&path, LockKind::Exclusive,',
    give: NOTHING,
    test: 'scenarios/syncs.rs::one_workspace_is_worked_on_by_one_at_a_time',
  },
  {
    what: 'all locks are `flock`',
    file: 'store/lock.rs',
    take: 'match rustix::fs::flock(&file, operation) {',
    give: 'match Ok::<(), Errno>(drop(operation)) {',
    test: 'scenarios/cancel.rs::a_workspace_that_is_in_use',
  },
  {
    what: 'a lock is given back, whoever was forked meanwhile and has its file open',
    file: 'store/lock.rs',
    take: 'while rustix::fs::flock(&self.file, FlockOperation::Unlock) == Err(Errno::INTR) {}',
    give: 'let _ = &self.file;',
    test: 'sandbox_suite/leases.rs::what_is_started_meanwhile_holds_nothing',
  },
  {
    what: "the store's lock is held alone while something is removed",
    file: 'store/lock.rs',
    take: 'FileLock::acquire(&layout.store_lock(), LockKind::Exclusive, wait, ctx)',
    give: 'FileLock::acquire(&layout.store_lock(), LockKind::Shared, wait, ctx)',
    test: 'scenarios/prune.rs::readers_are_waited_for_and_nothing_is_half_done',
  },
  {
    what: "the store's lock is shared by those who read and add",
    file: 'store/lock.rs',
    take: '    FileLock::acquire(&layout.store_lock(), LockKind::Shared, patience, ctx)\n',
    give: '    FileLock::acquire(&layout.format(), LockKind::Shared, patience, ctx)\n',
    test: 'scenarios/prune.rs::readers_are_waited_for_and_nothing_is_half_done',
  },
  {
    what: 'the door, which keeps new ones out for a moment',
    file: 'store/lock.rs',
    take: 'let _door = FileLock::acquire(&layout.door(), LockKind::Shared, patience, ctx)?;',
    give: '',
    test: 'scenarios/locked.rs::who_wants_the_store_alone_closes_the_door',
  },
  {
    what: 'one removal at a time',
    file: 'store/gc.rs',
    take: 'FileLock::acquire(&layout.removal_lock(), LockKind::Exclusive, patience, ctx)?',
    give: 'FileLock::acquire(&layout.removal_lock(), LockKind::Shared, patience, ctx)?',
    test: 'scenarios/locked.rs::one_removal_at_a_time',
  },
  {
    what: 'nobody sweeps while somebody removes',
    file: 'store/open.rs',
    take: 'FileLock::acquire(&layout.removal_lock(), LockKind::Exclusive, Patience::Try, &ctx)',
    give: 'FileLock::acquire(&layout.removal_lock(), LockKind::Shared, Patience::Try, &ctx)',
    test: 'scenarios/locked.rs::nobody_sweeps_while_somebody_is_at_work',
  },
  {
    what: 'nobody sweeps while somebody writes',
    file: 'store/open.rs',
    take: 'own_store(layout, Patience::Try, &ctx).map(|alone| (removal, alone))',
    give: 'super::lock::share_store(layout, Patience::Try, &ctx).map(|alone| (removal, alone))',
    test: 'scenarios/locked.rs::nobody_sweeps_while_somebody_is_at_work',
  },
  {
    what: 'one at a time takes room',
    file: 'store/budget.rs',
    take: 'FileLock::acquire(&path, LockKind::Exclusive, Patience::Wait(PATIENCE), &Context::default())',
    give: 'FileLock::acquire(&path, LockKind::Shared, Patience::Wait(PATIENCE), &Context::default())',
    test: 'scenarios/locked.rs::one_at_a_time_takes_room',
  },
  {
    what: 'who took room is alive as long as it holds its lock',
    file: 'store/budget.rs',
    take: 'Err(Errno::AGAIN) => Ok(true),',
    give: 'Err(Errno::AGAIN) => Ok(false),',
    test: 'scenarios/locked.rs::room_that_somebody_has_taken_counts_as_long_as_they_live',
  },
  {
    what: 'one call at a time works on a sandbox',
    file: 'sandbox/registry.rs',
    take: 'self.directory.join("lock"), LockKind::Exclusive',
    give: 'self.directory.join("other"), LockKind::Exclusive',
    test: 'sandbox_suite/life.rs::a_held_lock_is_busy_at_the_deadline',
  },
  {
    what: 'a sandbox that somebody holds is not abandoned',
    file: 'sandbox/lease.rs',
    take: 'FileLock::acquire(&path, LockKind::Exclusive, Patience::Wait(A_MOMENT), &Context::default())',
    give: 'FileLock::acquire(&path, LockKind::Shared, Patience::Wait(A_MOMENT), &Context::default())',
    test: 'sandbox_suite/leases.rs::a_live_holder_keeps_it_and_a_dead_one_does_not',
  },
  {
    what: 'an ephemeral store of somebody who lives is not removed',
    file: 'store/ephemeral.rs',
    take: 'let _lock =\n        FileLock::acquire(&lock_of(&layout), LockKind::Exclusive, Patience::Try, &Context::default())?;',
    give: '',
    test: 'scenarios/opening.rs::the_next_ephemeral_store_removes_those_of_dead_processes',
  },
];
