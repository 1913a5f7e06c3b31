export default { testDir: '.', workers: 2, reporter: 'list' };
