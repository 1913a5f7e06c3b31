// Each flag of the engine, and the test that fails without it.

const DAMAGE = 'scenarios/damage.rs::cut_off_missing_replaced';
const FLAGS = 'scenarios/flags.rs::names_are_not_followed';
const FLAGS_OLD = 'scenarios/flags.rs::names_are_not_followed_without_openat2';
const INHERIT = 'scenarios/inputs_races.rs::children_inherit_nothing';
const SWAPPED = 'restore_safety.rs::a_parent_swapped_for_a_symlink_after_the_plan_is_not_followed';
const SWAPPED_OLD = 'restore_safety.rs::without_openat2_a_swapped_parent_is_not_followed_either';
const MOUNT = 'restore_safety.rs::a_mount_inside_is_neither_entered_nor_deleted';
const LATER = 'restore_safety.rs::later_changes_of_others_are_kept';
const EXACT = 'scenarios/round_trip.rs::rollback_and_undo_are_exact';

/** @type {import('./mutations.mjs').Mutation[]} */
export const flags = [
  {
    what: 'reading: `O_NOFOLLOW` of the root and of directories',
    file: 'tree/sys.rs',
    take: '.union(OFlags::NOFOLLOW)',
    give: '',
    nth: 1,
    test: FLAGS,
  },
  {
    what: 'reading: `O_NOFOLLOW` of files, without `openat2`',
    file: 'tree/sys.rs',
    take: '.union(OFlags::NOFOLLOW)',
    give: '',
    nth: 2,
    test: FLAGS_OLD,
  },
  { what: 'reading: `O_NONBLOCK`', file: 'tree/sys.rs', take: '.union(OFlags::NONBLOCK)', give: '', test: FLAGS },
  {
    what: 'reading: `O_CLOEXEC` of directories',
    file: 'tree/sys.rs',
    take: '.union(OFlags::CLOEXEC)',
    give: '',
    nth: 1,
    test: INHERIT,
  },
  {
    what: 'reading: `RESOLVE_NO_XDEV`',
    file: 'tree/sys.rs',
    take: ' | ResolveFlags::NO_XDEV',
    give: '',
    test: 'scenarios/mounts.rs::a_bind_mount_of_the_same_file_system',
  },
  {
    what: 'reading: `RESOLVE_NO_SYMLINKS` and `O_NOFOLLOW` of files, of which either does',
    file: 'tree/sys.rs',
    take: ' | ResolveFlags::NO_SYMLINKS',
    give: '',
    test: FLAGS,
    and: [
      ['tree/sys.rs', '    .union(OFlags::NOFOLLOW)\n    .union(OFlags::NONBLOCK)', '    .union(OFlags::NONBLOCK)'],
    ],
  },
  {
    what: 'reading: mount ids, without `openat2`',
    file: 'tree/sys.rs',
    take: 'if mount_id(fd.as_fd())? != mount_id(parent)? {',
    give: 'if mount_id(fd.as_fd())? != mount_id(fd.as_fd())? {',
    test: FLAGS_OLD,
  },
  {
    what: 'reading: `AT_SYMLINK_NOFOLLOW`',
    file: 'tree/sys.rs',
    take: 'AtFlags::SYMLINK_NOFOLLOW',
    give: 'AtFlags::empty()',
    test: EXACT,
  },
  {
    what: 'writing: `RESOLVE_NO_SYMLINKS`',
    file: 'restore/beneath/dir.rs',
    take: '                    | ResolveFlags::NO_SYMLINKS\n',
    give: '',
    test: SWAPPED,
  },
  {
    what: 'writing: `RESOLVE_NO_XDEV`',
    file: 'restore/beneath/dir.rs',
    take: '                    | ResolveFlags::NO_XDEV\n',
    give: '',
    test: MOUNT,
  },
  {
    what: 'writing: `O_NOFOLLOW` of the root',
    file: 'restore/beneath/root.rs',
    take: 'OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW',
    give: 'OFlags::PATH | OFlags::DIRECTORY',
    test: FLAGS,
  },
  {
    what: 'writing: `O_NOFOLLOW` of each directory, without `openat2`',
    file: 'restore/beneath/dir.rs',
    take: 'OFlags::PATH.union(OFlags::NOFOLLOW)',
    give: 'OFlags::PATH',
    test: SWAPPED_OLD,
  },
  {
    what: 'writing: mount ids, without `openat2`',
    file: 'restore/beneath/dir.rs',
    take: 'if mount_id(next.as_fd())? != self.mount {',
    give: 'if mount_id(next.as_fd())? == u64::MAX {',
    test: MOUNT,
  },
  {
    what: 'writing: `O_CLOEXEC` of held directories',
    file: 'restore/beneath/dir.rs',
    take: '.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC)',
    give: '.union(OFlags::NOFOLLOW)',
    test: INHERIT,
  },
  {
    what: 'writing: `AT_SYMLINK_NOFOLLOW` of a look',
    file: 'restore/beneath/dir.rs',
    take: 'AtFlags::SYMLINK_NOFOLLOW',
    give: 'AtFlags::empty()',
    nth: 1,
    test: EXACT,
  },
  {
    what: "writing: `AT_SYMLINK_NOFOLLOW` of a link's owner",
    file: 'restore/beneath/dir.rs',
    take: 'AtFlags::SYMLINK_NOFOLLOW',
    give: 'AtFlags::empty()',
    nth: 2,
    test: EXACT,
  },
  {
    what: "writing: `AT_SYMLINK_NOFOLLOW` of a link's times",
    file: 'restore/beneath/dir.rs',
    take: 'AtFlags::SYMLINK_NOFOLLOW',
    give: 'AtFlags::empty()',
    nth: 3,
    test: EXACT,
  },
  {
    what: 'writing: `RENAME_NOREPLACE`',
    file: 'restore/beneath/dir.rs',
    take: 'RenameFlags::NOREPLACE',
    give: 'RenameFlags::empty()',
    test: LATER,
  },
  {
    what: 'writing: what is replaced is as it was seen',
    file: 'restore/apply/place.rs',
    take: 'if !is_as_seen(before, &held.lstat(&item.name)?) {',
    give: 'if false {',
    nth: 1,
    test: LATER,
  },
  {
    what: 'before the first write: `AT_SYMLINK_NOFOLLOW`',
    file: 'restore/apply/precheck.rs',
    take: 'AtFlags::SYMLINK_NOFOLLOW | ',
    give: '',
    test: 'scenarios/flags.rs::a_link_to_something_immutable_is_in_nobodys_way',
  },
  {
    what: 'the store: `O_NOFOLLOW` of its files',
    file: 'store/files.rs',
    take: 'let flags = rustix::fs::OFlags::NOFOLLOW | ',
    give: 'let flags = ',
    test: DAMAGE,
  },
  {
    what: 'the store: `O_NONBLOCK` of its files',
    file: 'store/files.rs',
    take: 'rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK',
    give: 'rustix::fs::OFlags::NOFOLLOW',
    test: DAMAGE,
  },
  {
    what: 'the store: `O_NOFOLLOW` of lock files',
    file: 'store/lock.rs',
    take: 'rustix::fs::OFlags::NOFOLLOW | ',
    give: '',
    test: 'scenarios/flags.rs::lock_files_are_not_followed_and_do_not_block',
  },
  {
    what: 'the store: `O_NONBLOCK` of lock files',
    file: 'store/lock.rs',
    take: ' | rustix::fs::OFlags::NONBLOCK',
    give: '',
    test: 'scenarios/flags.rs::lock_files_are_not_followed_and_do_not_block',
  },
];
